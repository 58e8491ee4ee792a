#!/usr/bin/env bash
# As alone_training.sh, with a learner as small as a laptop carries.
# Trains and measures what is missing; with --from-results it only draws.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${URSA:-.venv/bin/ursa}" reproduce small --figure training "$@"
