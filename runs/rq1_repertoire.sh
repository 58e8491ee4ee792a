#!/usr/bin/env bash
# Paper, figure of the repertoire: skills coloured by V(s0, z), beside what they earned.
# Trains and measures what is missing; with --from-results it only draws.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${URSA:-.venv/bin/ursa}" reproduce rq1 --figure repertoire "$@"
