#!/usr/bin/env bash
# Paper, figure of returns on the real robot, in simulation: one robot, five hours, five scenarios.
# Trains and measures what is missing; with --from-results it only draws.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${URSA:-.venv/bin/ursa}" reproduce alone --figure damages "$@"
