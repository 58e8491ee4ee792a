#!/usr/bin/env bash
# Runs at full size side by side on one lent GPU, a program for each: runs/share.sh HOME NAME...
# NAME is alone-METHOD-SEED (one robot, 360,000 steps, an update in 8) or forward-METHOD-SEED (32
# robots, a million steps, an update in 32). They go on when this has ended; HOME/begun is when the
# first began. With a machine that goes back after half an hour, NAME making room if need be:
#   runs/away.sh wait HOME SECONDS $(($(cat HOME/begun) + 1680)) NAME
#   runs/away.sh bring HOME NAME OUT SEED
# One H200 under MPS makes about 100 updates a second for all of them, and a robot alone is told
# 45,000, one of the second kind 31,250: by that three robots alone take 25 minutes and four 30, with
# two or three more to compile and to save. No such set has been run to its end yet.
set -euo pipefail
(($# >= 2)) || { sed -n '2,11s/^# //p' "$0" >&2; exit 2; }
home=$(realpath -m "$1")
cd "$(dirname "$0")/.."
shift
for name; do
  [[ $name =~ ^(alone|forward)-(ursa|daydreamer|dominic)-[0-9]+$ ]] ||
    { echo "$name: want alone-METHOD-SEED or forward-METHOD-SEED; METHOD is ursa, daydreamer or dominic" >&2; exit 2; }
done
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
for name; do
  IFS=- read -r kind method seed <<< "$name"
  what=(--method "$method" --preset paper --seed "$seed")
  if [[ $kind == alone ]]; then
    what+=(--train.robots 1 --settle 0.05 --train.steps 360000 --train.steps-per-update 8 --train.checkpoint-every 360000)
  else
    what+=(--train.checkpoint-every 1000000)
  fi
  runs/away.sh start "$home" "$name" "${what[@]}"
done
