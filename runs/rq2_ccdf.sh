#!/usr/bin/env bash
# Paper, appendix A: CCDF of the medians across damages.
# Trains and measures what is missing; with --from-results it only draws.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${URSA:-.venv/bin/ursa}" reproduce rq2 --figure ccdf "$@"
