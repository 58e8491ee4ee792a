"""When a training will end, by its diary; and who makes room where some would end too late."""

import itertools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, median

RECENT = 4  # pieces: who shares a machine gets faster when another leaves
FEWEST = 3  # pieces: one of the first holds minutes in which something is compiled
SILENT = 10  # pieces without a line, and two minutes: nothing tells any more


def left(run: Path, now: float) -> tuple[int, float, float]:
    """Steps so far, seconds a step, seconds until the end; infinite where nothing tells.

    The pace is the median of the newest pieces; a line that is overdue counts as if it came now.
    """
    diary = run / "metrics.jsonl"
    whole = diary.read_text().split("\n")[:-1] if diary.exists() else []
    found = [json.loads(line) for line in whole]
    pieces = [it for it in itertools.pairwise(found) if it[1]["step"] > it[0]["step"]][-RECENT:]
    if len(pieces) < FEWEST:
        return 0, math.inf, math.inf
    pace = median((b["time"] - a["time"]) / (b["step"] - a["step"]) for a, b in pieces)
    before, last = pieces[-1]
    piece, since = pace * (last["step"] - before["step"]), now - last["time"]
    if since > max(120.0, SILENT * piece):
        return last["step"], pace, math.inf
    steps = json.loads((run / "config.json").read_text())["train"]["steps"]
    return last["step"], pace, pace * (steps - last["step"]) - min(since, piece)


def spare(needed: Mapping[str, float], first: str, seconds: float) -> str | None:
    """Whom to let go so that others end in time: the last who is late, but for `first`; or nobody.

    `needed` are the seconds that each needs at its pace, most wanted first. Who ends leaves its
    share of the machine to the others: if they can use it, the last of them ends after the mean of
    `needed`. Only when even that is too late does somebody have to go, and what all need must be
    known by then.
    """
    if not needed or math.inf in needed.values() or fmean(needed.values()) <= seconds:
        return None
    late = [name for name, it in needed.items() if name != first and it > seconds]
    return late[-1] if late else None
