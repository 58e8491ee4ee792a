#!/usr/bin/env bash
# Paper, figure of ITE: the best return found so far, trial by trial.
# Trains and measures what is missing; with --from-results it only draws.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${URSA:-.venv/bin/ursa}" reproduce rq2 --figure evolution "$@"
