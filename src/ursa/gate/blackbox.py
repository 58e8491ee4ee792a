"""Black box: what the robot said and was told in the last minute, for whoever asks what happened.

The gate writes every cycle into shared memory and never waits; the supervisor puts it on disk when
a fault is latched or the gate has died. It survives the gate, not a power cut.

    blackbox/000003.npy    one line per cycle, `numpy.load` reads it
    blackbox/000003.json   why, when, the checksum of the file above, and the last datagrams that
                           were refused (those without a better one in their cycle), byte by byte
"""

import struct
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ursa import durable
from ursa.errors import UserError
from ursa.gate.modes import Event, Kind, Mode
from ursa.gate.wire import JOINTS, Command, Refused, State, decode_state
from ursa.shared import slots
from ursa.shared.place import shared

KIND, FOLDER = b"ursablck", "blackbox"
REFUSED, REFUSED_KEPT = b"ursarfsd", 16  # datagrams
HEAD, LONGEST = struct.Struct("=dI"), 2048  # when, and how long; bytes kept of one
NOTHING, GOOD, BAD = range(3)  # what arrived
MODES, KINDS = tuple(Mode), tuple(Kind)
FULL = "FULL.txt"  # beside them, when there are so many
KEPT = 50  # dumps; a run that faults for hours must not fill the disk

LINE = np.dtype(
    [
        *[("now", "<f8"), ("mode", "u1"), ("arrived", "u1"), ("tick", "<u4"), ("events", "<u8")],
        *[("quaternion", "<f4", 4), ("gyro", "<f4", 3), ("acceleration", "<f4", 3)],
        *[(n, "<f4", JOINTS) for n in ("angle", "speed", "torque")],
        *[("temperature", "i1", JOINTS), ("motor", "u1", JOINTS), ("foot_force", "<f4", 4)],
        *[(n, "<f4", JOINTS) for n in ("told_angle", "told_kp", "told_kd")],
        *[("remote", "u1", 40)],
    ]
)


def create(folder: Path, cycles: int) -> None:
    """Memory for so many cycles."""
    slots.prepare(_place(folder), KIND, slots=cycles, size=LINE.itemsize)
    size = HEAD.size + LONGEST
    slots.prepare(_refused(folder), REFUSED, slots=REFUSED_KEPT, size=size)


class BlackBox:
    """The gate's hand on it."""

    def __init__(self, folder: Path) -> None:
        self._slots = slots.Writer(_place(folder), KIND)
        self._refused = slots.Writer(_refused(folder), REFUSED)

    def note(
        self,
        now: float,
        mode: Mode,
        packet: State | Refused | None,
        command: Command,
        events: Iterable[Event],
    ) -> None:
        """One cycle."""
        line = np.zeros((), LINE)
        line["now"], line["mode"] = now, MODES.index(mode)
        if packet is not None:  # also of a bad one: a stop may have come with it
            line["remote"] = np.frombuffer(packet.remote, "u1")
        line["events"] = sum({1 << KINDS.index(event.kind) for event in events})
        if isinstance(packet, State):
            line["arrived"], line["tick"] = GOOD, packet.tick
            for name in ("quaternion", "gyro", "acceleration", "angle", "speed", "torque"):
                line[name] = getattr(packet, name)
            line["temperature"], line["motor"] = packet.temperature, packet.mode
            line["foot_force"] = packet.foot_force
        elif packet is not None:
            line["arrived"] = BAD
            self._refused.put(HEAD.pack(now, len(packet.data)) + packet.data[:LONGEST])
        line["told_angle"], line["told_kp"], line["told_kd"] = (
            *(command.angle, command.kp, command.kd),
        )
        self._slots.put(line.tobytes())

    def close(self) -> None:
        self._slots.close()
        self._refused.close()


def lines(folder: Path) -> np.ndarray:
    """What is in the memory now, oldest first."""
    reader = slots.Reader(_place(folder), KIND)
    try:
        found = b"".join(data for _, data in reader.since(0))
    finally:
        reader.close()
    return np.frombuffer(found, LINE)


def refused(folder: Path) -> list[dict[str, Any]]:
    """The last datagrams that were refused, oldest first, as plain values."""
    reader, found = slots.Reader(_refused(folder), REFUSED), []
    try:
        for _, data in reader.since(0):
            now, length = HEAD.unpack_from(data)
            kept = data[HEAD.size :][:length]
            why = decode_state(kept)
            said = f"{why.reason}: {why.detail}" if isinstance(why, Refused) else ""
            found.append({"now": now, "why": said, "bytes": length, "hex": kept.hex()})
    finally:
        reader.close()
    return found


def dump(folder: Path, why: str) -> Path | None:
    """Put the memory on disk; None if it is empty.

    When there have been enough, None as well; the first time that is a UserError, for somebody to
    be told: once.
    """
    place = folder / FOLDER
    place.mkdir(exist_ok=True)
    number = 1 + max((int(path.stem) for path in place.glob("[0-9]*.json")), default=0)
    found = lines(folder)
    if not len(found):
        return None
    if number > KEPT:
        if (place / FULL).exists():
            return None
        said = (
            f"{place} holds {KEPT} already, and no more are kept: later faults leave a line in "
            "interventions.jsonl only. Move them elsewhere for new ones"
        )
        (place / FULL).write_text(f"{said}\n")
        raise UserError(said)
    (place / FULL).unlink(missing_ok=True)
    path = place / f"{number:06d}.npy"
    with durable.room_for("the black box", place, found.nbytes):
        with open(path, "wb") as file:
            np.save(file, found, allow_pickle=False)
        about = {
            "why": why,
            "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),  # a label
            "seconds": float(found["now"][-1] - found["now"][0]),
            "cycles": len(found),
            "modes": [str(mode) for mode in MODES],
            "events": [str(kind) for kind in KINDS],
            "arrived": ["nothing", "a good packet", "a bad packet"],
            "refused": refused(folder),
            "file": durable.describe(path.read_bytes()),
        }
        durable.write(path.with_suffix(".json"), durable.to_json(about))
        durable.sync_folder(place)
    return path


def _place(folder: Path) -> Path:
    return shared(folder) / "blackbox"


def _refused(folder: Path) -> Path:
    return shared(folder) / "refused"
