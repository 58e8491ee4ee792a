#!/usr/bin/env bash
# Paper, figure of the reward during training.
# Trains and measures what is missing; with --from-results it only draws.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${URSA:-.venv/bin/ursa}" reproduce rq2 --figure training "$@"
