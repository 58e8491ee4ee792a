#!/usr/bin/env bash
# Paper, figure of average joint angles: 18 planes, coverage per method.
# Trains and measures what is missing; with --from-results it only draws.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${URSA:-.venv/bin/ursa}" reproduce rq1 --figure angles "$@"
