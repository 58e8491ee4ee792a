#!/usr/bin/env bash
# Paper, figure of velocity tracking errors, with the repertoire on top.
# Trains and measures what is missing; with --from-results it only draws.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${URSA:-.venv/bin/ursa}" reproduce rq3 --figure tracking "$@"
