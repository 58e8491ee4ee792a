#!/usr/bin/env bash
# V(s0, z) against the measured return, with Spearman's rank correlation (ours).
# Trains and measures what is missing; with --from-results it only draws.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${URSA:-.venv/bin/ursa}" reproduce rq1 --figure value "$@"
