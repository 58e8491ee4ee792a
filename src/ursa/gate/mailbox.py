"""Mailbox: what gate, actor and operators say to each other, in shared memory, one writer each.

    gate -> everybody        Told     every cycle; the last 128 of them can be read
    actor -> gate            Wish     every control step; only the newest counts
    supervisor -> gate       Order    numbered, one after another
    keys -> gate             Order    the same, from the thread that hears the terminal
    operator -> gate         Order    the same, for `ursa robot stop`

None of it is on disk, and all of it outlives any process: a gate that starts anew finds the fault
that the last one latched, and the stop that nobody had obeyed yet.
"""

from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ursa.gate.heard import Wish
from ursa.gate.modes import Counts, Kind, Mode, Order
from ursa.gate.packet import REMOTE_BYTES
from ursa.gate.wire import JOINTS, State
from ursa.shared import slots
from ursa.shared.place import shared

Array = np.ndarray
TOLD, WISH, ORDERS = b"ursatold", b"ursawish", b"ursaordr"
KEPT = 128  # cycles of the gate that can still be read: 0.25 s
LONGEST = 240  # bytes of a fault's reason
MODES, ALL_ORDERS = tuple(Mode), tuple(Order)
WRITERS = ("supervisor", "keys", "operator")
PLAUSIBLE = 64  # joints of a wish at most

STATE = np.dtype(
    [("tick", "<u4"), ("battery", "<f8"), ("remote", "u1", REMOTE_BYTES)]
    + [("quaternion", "<f8", 4), ("gyro", "<f8", 3), ("acceleration", "<f8", 3)]
    + [(name, "<f8", JOINTS) for name in ("angle", "speed", "torque", "temperature", "mode")]
    + [("foot_force", "<f8", JOINTS // 3)]
)
PACKED = np.dtype(
    [
        *[("cycle", "<u8"), ("now", "<f8"), ("mode", "u1"), ("since", "<f8")],
        *[("fault", f"S{LONGEST}"), ("ready", "u1"), ("counts", "<u8", len(Kind))],
        *[("known", "u1"), ("fresh", "u1"), ("heard", "<f8"), ("state", STATE)],
        *[("serves", "u1"), ("target", "<f8", JOINTS), ("placed", "u1"), ("pose", "<f8", 4)],
    ]
)
WISHED = np.dtype([("sequence", "<u8"), ("time", "<f8"), ("joints", "<u4"), ("angle", "<f8", 64)])


@dataclass(frozen=True, kw_only=True)
class Pose:
    """Where the robot is in its arena, by a pose source outside it."""

    x: float  # m
    y: float
    yaw: float  # rad
    time: float  # when the gate heard it, on its clock


@dataclass(frozen=True, kw_only=True, eq=False)
class Told:
    """What the gate knows and did in one cycle."""

    cycle: int  # counts up, also when another gate takes over
    now: float  # on the gate's clock
    mode: Mode
    since: float  # when the mode began
    fault: str = ""  # why FAULT is latched
    state: State | None = None  # the last that can be believed; None: the robot has said nothing
    fresh: bool = False  # it came in this cycle
    heard: float = 0.0  # when it came
    target: Float[Array, " A"] | None = None  # rad, what the motors are told; None: limp
    ready: bool = False  # stands, the ramp is over: an order to run would be followed
    pose: Pose | None = None
    counts: Counts = field(default_factory=Counts)


def create(folder: Path) -> None:
    """The boxes of a run, if they are not there yet; by whoever starts the others."""
    place = shared(folder)
    slots.prepare(place / "told", TOLD, slots=KEPT, size=PACKED.itemsize)
    slots.prepare(place / "wish", WISH, slots=4, size=WISHED.itemsize)
    for who in WRITERS:
        slots.prepare(_orders(folder, who), ORDERS, slots=64, size=1)


class Teller:
    """The gate's mouth; there is one gate at a time."""

    def __init__(self, folder: Path) -> None:
        self._slots = slots.Writer(shared(folder) / "told", TOLD)
        found = self._slots.newest()
        self.last = None if found is None else unpack(found[1])  # what the gate before us told

    def tell(self, told: Told) -> None:
        self._slots.put(pack(told))

    def close(self) -> None:
        self._slots.close()


class Listener:
    """An ear for the gate; as many as you like."""

    def __init__(self, folder: Path) -> None:
        self._slots = slots.Reader(shared(folder) / "told", TOLD)

    def newest(self) -> Told | None:
        """What the gate told last."""
        found = self._slots.newest()
        return None if found is None else unpack(found[1])

    def since(self, cycle: int) -> list[Told]:
        """What it told after a cycle, oldest first; what is older than KEPT cycles is gone."""
        found = self._slots.newest()
        if found is None:
            return []
        last = unpack(found[1]).cycle
        return [unpack(data) for _, data in self._slots.since(max(found[0] - (last - cycle), 0))]

    def close(self) -> None:
        self._slots.close()


class Wisher:
    """The actor's mouth; there is one actor at a time."""

    def __init__(self, folder: Path) -> None:
        """Continue the numbers of the actor before us, so that none of its wishes looks newer."""
        self._slots = slots.Writer(shared(folder) / "wish", WISH)

    def wish(self, angle: Float[Array, " A"], now: float) -> Wish:
        """Leave a wish, made at `now` on the gate's clock."""
        wish = Wish(angle=np.array(angle, float), sequence=self._slots.number + 1, time=now)
        cell = np.zeros((), WISHED)
        cell["sequence"], cell["time"], cell["joints"] = wish.sequence, now, len(wish.angle)
        cell["angle"][: len(wish.angle)] = wish.angle
        self._slots.put(cell.tobytes())
        return wish

    def close(self) -> None:
        self._slots.close()


class Wishes:
    """The gate's ear for the actor."""

    def __init__(self, folder: Path) -> None:
        self._slots = slots.Reader(shared(folder) / "wish", WISH)

    def newest(self) -> Wish | None:
        found = self._slots.newest()
        if found is None:
            return None
        cell = np.frombuffer(found[1], WISHED)[0]
        angle = cell["angle"][: min(int(cell["joints"]), PLAUSIBLE)].copy()
        return Wish(angle=angle, sequence=int(cell["sequence"]), time=float(cell["time"]))

    def close(self) -> None:
        self._slots.close()


class Orderer:
    """One of the mouths that order; UserError if somebody is speaking through it."""

    def __init__(self, folder: Path, who: str) -> None:
        self._slots = slots.Writer(_orders(folder, who), ORDERS)

    def order(self, order: Order) -> int:
        """Give an order; returns its number."""
        return self._slots.put(bytes([ALL_ORDERS.index(order)]))

    def done(self, number: int) -> bool:
        """Whether the gate has taken an order in, be it that it refused it."""
        return self._slots.mark() >= number

    def close(self) -> None:
        self._slots.close()


class Orders:
    """The gate's ear for orders. A number is taken in once by each gate."""

    def __init__(self, folder: Path) -> None:
        """Orders from before this gate began are void, except those that make the robot safer."""
        self._slots = [slots.Reader(_orders(folder, who), ORDERS) for who in WRITERS]
        self._seen = [each.mark() for each in self._slots]
        self._begin = [(each.newest() or (0, b""))[0] for each in self._slots]

    def waiting(self) -> tuple[Order, ...]:
        """Orders not seen yet, in the order given; say `obeyed` when they have had their effect."""
        found: list[Order] = []
        for index, each in enumerate(self._slots):
            for number, data in each.since(self._seen[index]):
                order = ALL_ORDERS[data[0]]
                if number > self._begin[index] or order in (Order.STOP, Order.DAMP):
                    found.append(order)
                self._seen[index] = number
        return tuple(found)

    def obeyed(self) -> None:
        """All that `waiting` returned has had its effect: the next gate need not see it."""
        for number, each in zip(self._seen, self._slots, strict=True):
            if number > each.mark():
                each.note(number)

    def close(self) -> None:
        for each in self._slots:
            each.close()


def pack(told: Told) -> bytes:
    """A cycle of the gate as bytes."""
    cell = np.zeros((), PACKED)
    for name in ("cycle", "now", "since", "fresh", "heard", "ready"):
        cell[name] = getattr(told, name)
    cell["mode"] = MODES.index(told.mode)
    cell["fault"] = told.fault.encode()[:LONGEST]
    cell["counts"] = told.counts.of
    if told.state is not None:
        cell["known"] = 1
        state = cell["state"]
        for name in STATE.names or ():
            if name not in ("battery", "remote"):
                state[name] = getattr(told.state, name)
        state["battery"] = np.nan if told.state.battery is None else told.state.battery
        state["remote"] = np.frombuffer(told.state.remote, "u1")
    if told.target is not None:
        cell["serves"], cell["target"] = 1, told.target
    if told.pose is not None:
        where = told.pose
        cell["placed"], cell["pose"] = 1, (where.x, where.y, where.yaw, where.time)
    return cell.tobytes()


def unpack(data: bytes) -> Told:
    """The same, read back."""
    cell = np.frombuffer(data, PACKED)[0]
    x, y, yaw, time = cell["pose"].tolist()
    return Told(
        cycle=int(cell["cycle"]),
        now=float(cell["now"]),
        mode=MODES[cell["mode"]],
        since=float(cell["since"]),
        fault=bytes(cell["fault"]).decode(errors="replace"),
        state=_state(cell["state"]) if cell["known"] else None,
        fresh=bool(cell["fresh"]),
        heard=float(cell["heard"]),
        target=cell["target"].copy() if cell["serves"] else None,
        ready=bool(cell["ready"]),
        pose=Pose(x=x, y=y, yaw=yaw, time=time) if cell["placed"] else None,
        counts=Counts(tuple(cell["counts"].tolist())),
    )


def _state(cell: np.void) -> State:
    battery = float(cell["battery"])
    plain = {f.name: cell[f.name].copy() for f in fields(State) if cell.dtype[f.name].shape}
    plain |= {"mode": plain["mode"].astype(int), "remote": cell["remote"].tobytes()}
    return State(**plain, tick=int(cell["tick"]), battery=battery if battery == battery else None)


def _orders(folder: Path, who: str) -> Path:
    return shared(folder) / f"orders.{who}"
