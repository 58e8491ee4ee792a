#!/usr/bin/env bash
# Runs at full size side by side on one lent GPU, a program for each: runs/share.sh HOME NAME...
# NAME is a run of `ursa reproduce` and a seed: alone-ursa-0, forward-dominic-1 (runs/words.py). They
# go on when this has ended; HOME/begun is when the first began (runs/lease.sh for the rest).
# One H200 under MPS makes about 100 updates a second for all of them, and a robot alone is told
# 45,000, 32 robots 31,250: by that two robots alone and a program of 32 robots take 20 minutes, with
# two or three more to compile and to save. No such set has been run to its end yet.
set -euo pipefail
(($# >= 2)) || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
home=$(realpath -m "$1")
cd "$(dirname "$0")/.."
shift
said=$(PYTHONPATH=carry:src "${PYTHON:-python3}" runs/words.py "$@") || exit 2
mkdir -p "$home"
test -e "$home/begun" || date +%s > "$home/begun"
if command -v nvidia-cuda-mps-control > /dev/null; then
  export CUDA_MPS_PIPE_DIRECTORY=$home/mps CUDA_MPS_LOG_DIRECTORY=$home/mps
  mkdir -p "$CUDA_MPS_PIPE_DIRECTORY"
  nvidia-cuda-mps-control <<< get_server_list > /dev/null 2>&1 || nvidia-cuda-mps-control -d
fi
# A share of the memory; few threads, which need not be woken, for what robots compute on the host.
printf -v XLA_PYTHON_CLIENT_MEM_FRACTION 0.%02d $((80 / $#))
export XLA_PYTHON_CLIENT_MEM_FRACTION PJRT_NPROC=4 NPROC=4 OPENBLAS_NUM_THREADS=1
while read -r name what; do
  # shellcheck disable=SC2086 # words of `ursa train`, none of which has a space
  runs/away.sh start "$home" "$name" $what
done <<< "$said"
