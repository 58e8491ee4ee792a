"""When the trainings on a lent machine will end: `python runs/pace.py HOME [SECONDS]`.

One line for each that is still at it: steps, milliseconds a step over the newer half of its diary
or its last five lines, whichever is less, seconds until its end. Exit status 3 says that one of
them needs more than SECONDS, or has no pace yet (`--known`: that one does not count): time to let
another go (`runs/away.sh drop`).
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path

LATE = 3  # none of the statuses that a crash has
RECENT = 5  # lines: who shares a machine gets faster when another leaves


def left(run: Path, now: float) -> tuple[int, float, float]:
    """Steps so far, seconds a step, seconds until the end; infinite where nothing tells."""
    diary = run / "metrics.jsonl"
    lines = diary.read_text().splitlines() if diary.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("}")]
    if len(found) < 3:  # before the first two lines something is compiled
        return 0, math.inf, math.inf
    first, last = found[max((len(found) - 1) // 2, len(found) - RECENT)], found[-1]
    pace = (last["time"] - first["time"]) / (last["step"] - first["step"])
    steps = json.loads((run / "config.json").read_text())["train"]["steps"]
    end = last["time"] + pace * (steps - last["step"])
    return last["step"], pace, end - now


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("seconds", type=float, nargs="?", default=math.inf)
    parser.add_argument("--known", action="store_true", help="who has no pace yet is not late")
    options = parser.parse_args()
    late = False
    for log in sorted(options.home.glob("*.log")):
        if log.with_suffix(".rc").exists():
            continue
        steps, pace, needed = left(options.home / "outputs" / log.stem, time.time())
        print(f"{log.stem}: {steps:,} steps, {1e3 * pace:.2f} ms a step, {needed:.0f} s to go")
        if not (options.known and math.isinf(needed)):
            late |= not needed <= options.seconds
    return LATE if late else 0


if __name__ == "__main__":
    sys.exit(main())
