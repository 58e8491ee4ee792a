#!/usr/bin/env bash
# Coverage of average joint angles in four ways of counting (ours).
# Trains and measures what is missing; with --from-results it only draws.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${URSA:-.venv/bin/ursa}" reproduce rq1 --figure coverage "$@"
