"""Diary: what the gate found and did, in a file: `interventions.jsonl` in the run's folder.

One line for everything that happened, and now and then two with all counts: the gate's, and how
often the actor took the robot home, saw it outside, or lost sight of it. Times are those of the
gate's clock. A full disk costs lines, never the run.
"""

import json
import logging
import time
from pathlib import Path
from typing import Any

from ursa.gate.mailbox import Told
from ursa.gate.modes import Kind, Order
from ursa.live.gating import Events
from ursa.live.outlet import Outlet
from ursa.live.tally import Tally
from ursa.shared import pulse

NAME = "interventions.jsonl"
PATIENCE = 5.0  # s in which the disk takes nothing, then nobody waits for it at the end
EVERY = 10.0  # s between two lines of counts
log = logging.getLogger(__name__)


class Diary:
    """Writes down what the gate says, and what the actor counts."""

    def __init__(self, folder: Path) -> None:
        self._events, self._path = Events(folder), folder / NAME
        pulse.create(folder, "actor")
        self._actor, self.tally = pulse.Watch(folder, "actor"), Tally()
        self._counted = -EVERY
        self._outlet: Outlet[list[dict[str, Any]]] = Outlet(self._append, "diary")
        self.refusal = ""  # why the gate did not follow the last order; "" if it moved on since
        # In words for a person: acknowledgements that it refused since the last `write`.
        self.unheeded: list[str] = []

    def write(self, told: Told | None, last: bool = False) -> None:
        """What is new."""
        lines = self._events.new()
        self.tally.hear(self._actor.last())
        refused = [line["detail"] for line in lines if line["kind"] == Kind.ORDER_REFUSED]
        self.unheeded = [
            f"not acknowledged: {it.partition(': ')[2]}"
            for it in refused
            if it.startswith(f"{Order.ACKNOWLEDGE}:")
        ]
        for line in lines:
            if line["kind"] in (Kind.MODE, Kind.ORDER_REFUSED):
                self.refusal = line["detail"] if line["kind"] == Kind.ORDER_REFUSED else ""
        due = last or time.monotonic() - self._counted >= EVERY
        if told is not None and due:
            self._counted = time.monotonic()
            when = {"cycle": told.cycle, "now": told.now}
            lines.append({**when, "kind": "counts", "counts": told.counts.named})
            lines.append({**when, "kind": "actor", "counts": self.tally.counts})
        if lines:
            self._outlet.put(lines)

    def _append(self, lines: list[dict[str, Any]]) -> None:
        """To disk, in a thread of its own: a disk that hangs holds up no watch over a robot."""
        try:
            with open(self._path, "a") as file:
                file.writelines(f"{json.dumps(line)}\n" for line in lines)
        except OSError as error:
            log.error("%s: %s; what the gate did just now is not written down", self._path, error)

    def close(self) -> None:
        if not self._outlet.close(PATIENCE):
            log.error("%s: the disk hangs; the last of what the gate did may be lost", self._path)
        self._events.close()
        self._actor.close()
