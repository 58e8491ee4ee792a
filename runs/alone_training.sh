#!/usr/bin/env bash
# Paper, figure of reward on the real robot, in simulation: one robot, five hours, by quarter hours.
# Trains and measures what is missing; with --from-results it only draws.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${URSA:-.venv/bin/ursa}" reproduce alone --figure training "$@"
