#!/usr/bin/env bash
# A lease of half an hour as a few calls, none of which needs to be thought about: give the first
# with names, most wanted first, and the others at once after it without, three calls in all.
#   runs/lease.sh HOME OUT NAME...   begins (runs/share.sh), waits nine minutes, brings home
#   runs/lease.sh HOME OUT           waits for those, and brings home who has ended
# Names are let go from the last on, never the first, while somebody would end too late
# (runs/away.sh wait). LEASE: seconds from the beginning until the last has to end; CALL: seconds
# that a call may wait.
set -euo pipefail
(($# >= 2)) || { sed -n '2,8s/^# //p' "$0" >&2; exit 2; }
home=$1 out=$2 here=$(dirname "$0")
shift 2
if (($#)); then
  "$here/share.sh" "$home" "$@"
  printf '%s\n' "$@" > "$home/names"
elif ! test -e "$home/names"; then
  echo "$home: nothing was begun here; is this another machine?" >&2
  exit 1
fi
begun=$(cat "$home/begun") lease=${LEASE:-1680}
mapfile -t spare < <(tail -n +2 "$home/names" | tac)
# A few seconds of grace for who is about to end; what is left is for bringing them home.
left=$((begun + lease + 35 - $(date +%s)))
failed=0
"$here/away.sh" wait "$home" $((left < ${CALL:-545} ? left : ${CALL:-545})) $((begun + lease)) \
  "${spare[@]}" || failed=1
"$here/away.sh" home "$home" "$out" || failed=1
exit $failed
