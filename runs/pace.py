"""When the trainings on a lent machine will end: `python runs/pace.py HOME [SECONDS]`.

One line for each that is still at it: steps, milliseconds a step (median of the newest four pieces
of its diary), seconds until its end, of one whose next line is overdue as if it came now. Exit
status 3 says that one of them needs more than SECONDS, or has no pace yet (with `--known` it is
left out): time to let another go (`runs/away.sh drop`).
"""

import argparse
import itertools
import json
import math
import sys
import time
from pathlib import Path
from statistics import median

LATE = 3  # none of the statuses that a crash has
RECENT = 4  # pieces: who shares a machine gets faster when another leaves
FEWEST = 3  # pieces: one of the first holds minutes in which something is compiled


def left(run: Path, now: float) -> tuple[int, float, float]:
    """Steps so far, seconds a step, seconds until the end; infinite where nothing tells."""
    diary = run / "metrics.jsonl"
    lines = diary.read_text().splitlines() if diary.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("}")]
    pieces = [it for it in itertools.pairwise(found) if it[1]["step"] > it[0]["step"]][-RECENT:]
    if len(pieces) < FEWEST:
        return 0, math.inf, math.inf
    pace = median((b["time"] - a["time"]) / (b["step"] - a["step"]) for a, b in pieces)
    before, last = pieces[-1]
    steps = json.loads((run / "config.json").read_text())["train"]["steps"]
    since = min(now - last["time"], pace * (last["step"] - before["step"]))
    return last["step"], pace, pace * (steps - last["step"]) - since


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--of", metavar="NAME", default="*", help="only this one")
    parser.add_argument("seconds", type=float, nargs="?", default=math.inf)
    parser.add_argument(
        "--known", action="store_true", help="who has no pace yet is neither told nor late"
    )
    options = parser.parse_args()
    late = False
    for log in sorted(options.home.glob(f"{options.of}.log")):
        if log.with_suffix(".rc").exists():
            continue
        steps, pace, needed = left(options.home / "outputs" / log.stem, time.time())
        if options.known and math.isinf(needed):
            continue
        print(f"{log.stem}: {steps:,} steps, {1e3 * pace:.2f} ms a step, {needed:.0f} s to go")
        late |= not needed <= options.seconds
    return LATE if late else 0


if __name__ == "__main__":
    sys.exit(main())
