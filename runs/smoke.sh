#!/usr/bin/env bash
# Every step of every figure in miniature, on two cores: train, measure, draw, report. No result.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${URSA:-.venv/bin/ursa}" reproduce all --preset tiny --seeds 2 --quick --out outputs/miniature/figures "$@"
