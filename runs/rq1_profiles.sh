#!/usr/bin/env bash
# Distance and performance profiles of the skills (ours, after QDAC).
# Trains and measures what is missing; with --from-results it only draws.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${URSA:-.venv/bin/ursa}" reproduce rq1 --figure profiles "$@"
