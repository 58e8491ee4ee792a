#!/usr/bin/env bash
# Libraries for a machine that has JAX, equinox and optax but no network: runs/carry.sh [PYTHON]
# Fills carry/ (32 MB) with what `ursa train` imports besides, unpacked, as pinned by the lock, for
# that version of CPython on Linux (default 3.12). runs/away.sh takes it along.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-3.12}
names=(attrs cattrs cloudpickle docstring-parser farama-notifications gymnasium mujoco-core protobuf
  tensorboardx typeguard tyro)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
for name in "${names[@]}"; do
  pinned=$(grep -o "^$name==[^ ;]*" requirements.lock.txt)
  python3 -m pip download --quiet --no-deps --only-binary :all: --python-version "$version" \
    --platform manylinux_2_28_x86_64 --platform any --dest "$room" "$pinned"
done
rm -rf carry
mkdir carry
for wheel in "$room"/*.whl; do python3 -m zipfile -e "$wheel" carry; done
rm -rf carry/mujoco/doc carry/*.data
du -sh carry
