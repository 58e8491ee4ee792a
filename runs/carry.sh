#!/usr/bin/env bash
# Libraries for a machine that has JAX, equinox and optax but no network: runs/carry.sh [PYTHON]
# Fills carry/libraries.tgz (10 MB) with what `ursa train` imports besides, as pinned by the lock, for
# that version of CPython on Linux (default 3.12). runs/lease.py unpacks it there.
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
mkdir "$room/all"
for wheel in "$room"/*.whl; do python3 -m zipfile -e "$wheel" "$room/all"; done
rm -rf "$room"/all/mujoco/doc "$room"/all/*.data carry
mkdir carry
tar -C "$room/all" -czf carry/libraries.tgz .
du -h carry/libraries.tgz
