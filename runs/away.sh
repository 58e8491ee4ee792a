#!/usr/bin/env bash
# Training on a machine that is only lent, by commands that may not last as long as the training:
#   runs/away.sh start HOME NAME ARGS...       copies the source to HOME and trains there, detached
#   runs/away.sh wait HOME SECONDS             until all have ended, one dies or the time is over
#   runs/away.sh wait HOME SECONDS BY NAME...  and drops the NAMEs, one after the other, as long as
#                                              somebody would end after BY (seconds since 1970);
#                                              who would end within a minute is let end
#   python runs/pace.py HOME SECONDS           when each will end, and whether all do by then (else status 3)
#   runs/away.sh drop HOME NAME                tells one to save and end; the others go on
#   runs/away.sh bring HOME NAME OUT SEED...   packs settings, diary and agents (runs/pack.py)
#   runs/away.sh home HOME OUT                 the same of all seeds of everyone who has ended since
#                                              this was last done, into OUT/NAME
# A machine that goes back when nobody calls is best given its calls beforehand, one right after the
# other, each of them `wait` and then `home`: what has ended is out of danger.
# ARGS are those of `ursa train`; with `--train.checkpoint-every` as long as the run, no time goes
# into checkpoints that nobody could resume. Libraries are looked for in carry/, too.
set -euo pipefail
shopt -s nullglob
(($# >= 3)) || { sed -n '2,16s/^# //p' "$0" >&2; exit 2; }
what=$1 home=$(realpath -m "$2")
shift 2
export PYTHONPATH=$home/carry:$home/src PYTHONDONTWRITEBYTECODE=1
# A lone robot acts on the CPU while the GPU learns: quicker without a hand-over to another thread,
# which may have to be woken.
export JAX_CPU_ENABLE_ASYNC_DISPATCH=${JAX_CPU_ENABLE_ASYNC_DISPATCH-0}
python=${PYTHON:-python3}

progress() {
  for run in "$home"/outputs/*/; do
    name=$(basename "$run")
    test -e "$home/$name.log" || continue  # dropped
    state=training
    test -e "$home/$name.rc" && state="ended with $(cat "$home/$name.rc")"
    echo "$name: $state; $(tail -n 1 "$run/metrics.jsonl" 2>/dev/null | cut -c "1-${SHOWN:-400}")"
  done
}

signal() { kill "$2" -- "-$(cat "$home/$1.pid")" 2>/dev/null; }

drop() {
  test -e "$home/$1.log" || return 0
  echo "dropping $1"
  if ! test -e "$home/$1.rc"; then  # else it has ended, and is only forgotten
    # In order, if it can: a GPU that others share does not like sudden deaths.
    signal "$1" -TERM || true
    for ((patience = ${PATIENCE:-60}; patience; patience--)); do
      signal "$1" -0 || break
      sleep 1
    done
    signal "$1" -KILL || true
  fi
  rm -f "$home/$1.log" "$home/$1.rc"
}

pack() { JAX_PLATFORMS=cpu "$python" "$home/runs/pack.py" "$home/outputs/$1" "${@:2}"; }

pace() { "$python" "$(dirname "$0")/pace.py" "$home" "$@"; }

late() {  # whether one of those whose pace is known ends after $1
  local status=0
  pace "$(($1 - $(date +%s)))" --known || status=$?
  ((status == 3))
}

case $what in
start)
  name=$1
  shift
  mkdir -p "$home/outputs/$name"
  test -e "$home/src" || cp -r src runs "$home/"
  test -e "$home/carry" || ! test -e carry || cp -r carry "$home/"
  cd "$home"
  rm -f "$name.rc" "$name.pid" "$name.home"
  : > "$name.log"
  setsid bash -c 'echo $$ > "$1.pid"
    "$0" -m ursa train --quiet --out "outputs/$1" "${@:2}" >> "$1.log" 2>&1
    echo $? > "$1.rc"' "$python" "$name" "$@" < /dev/null > /dev/null 2>&1 &
  ;;
drop) drop "$1" ;;
wait)
  look=${LOOK:-100}  # a pace needs some time to tell of a change
  until=$((SECONDS + $1)) by=${2-} spare=("${@:3}") next=$((SECONDS + look))
  if (($# > 1)) && ! { [[ $by =~ ^[0-9]+$ ]] && ((by > $(date +%s) - 3600)); }; then
    echo "BY is $by: want a time, in seconds since 1970 (date +%s), at most an hour ago" >&2
    exit 2
  fi
  while ((SECONDS < until)); do
    while ((${#spare[@]})) && test -e "$home/${spare[0]}.rc"; do spare=("${spare[@]:1}"); done
    if ((${#spare[@]} && SECONDS >= next)); then
      if late "$by" && ! pace 60 --of "${spare[0]}" > /dev/null; then
        drop "${spare[0]}"
        spare=("${spare[@]:1}")
      fi
      next=$((SECONDS + look))
    fi
    training=0
    for log in "$home"/*.log; do
      name=$(basename "$log" .log) ended=${log%.log}.rc
      # Its pid comes a moment after its log, and how it ended is written before it goes.
      if test -s "$home/$name.pid" && ! signal "$name" -0 && ! test -e "$ended"; then
        echo "a kill" > "$ended"
      fi
      if ! test -e "$ended"; then
        training=1
      elif test "$(cat "$ended")" != 0; then
        tail -n 30 "$log"
        progress
        exit 1
      fi
    done
    ((training)) || break
    sleep 2
  done
  progress
  ;;
bring)
  if ! test -e "$home/$1.rc"; then
    echo "$1 is still training: wait first" >&2
    exit 1
  fi
  pack "$1" "$2" --seeds "${@:3}"
  ;;
home)
  packing=()
  for ended in "$home"/*.rc; do
    name=$(basename "$ended" .rc)
    if test -e "$home/$name.home" || test "$(cat "$ended")" != 0; then continue; fi
    { pack "$name" "$1/$name" && touch "$home/$name.home"; } &
    packing+=($!)
  done
  for one in "${packing[@]}"; do wait "$one" || failed=1; done
  exit "${failed-0}"
  ;;
*)
  echo "$what: want start, wait, drop, bring or home" >&2
  exit 2
  ;;
esac
