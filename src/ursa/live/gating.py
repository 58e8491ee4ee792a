"""Gating: the gate as a process. The only one with a link to the robot; no JAX.

What it decides is in `ursa.gate`; here are the clock, the link and the shared memory. Whatever way
it ends, the last thing the robot hears is the limp command. It touches no disk in its loop, and
says why it ends when the robot is limp: the disk may be what holds up whoever looks after it.
"""

import gc
import json
import logging
import os
from collections.abc import Iterable
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ursa.gate import blackbox, gate, machine, mailbox, pose
from ursa.gate.limits import Limits
from ursa.gate.link import Link, address
from ursa.gate.machine import GateState
from ursa.gate.mailbox import Told
from ursa.gate.modes import SERVO_MODES, Counts, Event, Kind, Mode, Order
from ursa.gate.spells import Spells, spoken
from ursa.gate.where import Receiver
from ursa.gate.wire import Command, Refused, State
from ursa.live import child, lead, settings
from ursa.live.lead import Lead
from ursa.live.settings import Live
from ursa.shared import pulse, slots
from ursa.shared.clock import Clock, open_clock
from ursa.shared.place import shared

log = logging.getLogger(__name__)
EVENTS, EVENT_SIZE, EVENTS_KEPT = b"ursaevnt", 240, 1024
NAMES = ("cycle", "now", "kind", "level", "detail")  # of an event, as others read it
CLAMPS = (Kind.CLAMPED_RANGE, Kind.CLAMPED_REACH, Kind.CLAMPED_RATE, Kind.CLAMPED_TORQUE)
PLAIN = (Kind.MODE, Kind.ORDER_REFUSED, Kind.ACKNOWLEDGED, Kind.REPEATED_PACKET)  # all in order
ANEW = "the gate was started anew"
RESUMED = "the run was resumed"
NEWS = (ANEW, RESUMED)  # a person is asked, and nothing has happened
BEAT = 10  # cycles between two signs of life
LONGEST_END = 10  # real seconds for lying down after being asked to end
PATIENCE = 5.0  # s of the clock for the same
BEHIND = 10  # cycles; beyond that, what was missed is not made up for


def create(folder: Path, live: Live) -> None:
    """The memory that a gate needs, if it is not there yet."""
    mailbox.create(folder)
    pulse.create(folder, "gate")
    lead.create(folder)
    slots.prepare(shared(folder) / "events", EVENTS, slots=EVENTS_KEPT, size=EVENT_SIZE)
    blackbox.create(folder, max(2, round(live.blackbox / live.gate_limits().period)))


def main(folder: Path) -> int:
    """Gate a robot until asked to end, or until the supervisor is gone or hangs."""
    ending = child.Ending(longest=LONGEST_END)
    live = settings.read(folder)
    limits = live.gate_limits()
    if not live.virtual:
        _hurry()
    with ExitStack() as stack:
        mouth = stack.enter_context(closing(Mouth(folder)))
        link = stack.enter_context(Link(address(live.link), limits.limp, folder=folder))
        clock = stack.enter_context(closing(open_clock(live.clock, "gate")))
        ears = stack.enter_context(closing(Ears(folder, live.pose)))
        leader = None
        if ending.supervised:
            leader = stack.enter_context(closing(Lead(folder, lead.patience(live))))
        why = Loop(limits, clock, link, ears, mouth, live.start, leader).run(ending)
    if why:
        log.warning("%s: the gate laid the robot down and ended", why)
    return 0


def first(limits: Limits, last: Told | None, start: str) -> GateState:
    """What a gate begins with; `last` is what is in memory of the one before.

    After a reboot that is nothing: why the run ended is not known, so a person looks, too.
    """
    if last is None and start == "resumed":
        return replace(machine.begin(limits), fault=RESUMED)
    return resumed(limits, last)


def resumed(limits: Limits, last: Told | None) -> GateState:
    """A gate that takes over: limp; counts go on, and a person looks before it stands up.

    Nobody knows what was done with the robot while it had no gate, also if it was limp by then.
    """
    state = machine.begin(limits)
    if last is None:
        return state
    mode = Mode.FAULT if last.mode is Mode.FAULT else Mode.DAMP
    died = f"the gate died in {last.mode.value}" if last.mode in SERVO_MODES else ANEW
    return replace(state, mode=mode, counts=last.counts, fault=last.fault or died)


class Ears:
    """What comes to the gate from inside this machine."""

    def __init__(self, folder: Path, source: str) -> None:
        self.wishes, self.orders = mailbox.Wishes(folder), mailbox.Orders(folder)
        self._source = Receiver(address(source)) if source else None
        self._pose: mailbox.Pose | None = None

    def pose(self, now: float) -> mailbox.Pose | None:
        """Where the robot is, if a pose source says so."""
        found = None if self._source is None else self._source.receive()
        if found is not None:
            self._pose = mailbox.Pose(x=found.x, y=found.y, yaw=found.yaw, time=now)
        return self._pose

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
        self.wishes.close()
        self.orders.close()


class Mouth:
    """What the gate says inside this machine."""

    def __init__(self, folder: Path) -> None:
        self._teller, self._box = mailbox.Teller(folder), blackbox.BlackBox(folder)
        self._events = slots.Writer(shared(folder) / "events", EVENTS)
        self._pulse = pulse.Pulse(folder, "gate")
        self._spells: Spells = {}
        self.last = self._teller.last

    def say(
        self,
        told: Told,
        packet: State | Refused | None,
        command: Command,
        events: tuple[Event, ...],
        lost: int,
    ) -> None:
        """One cycle."""
        self._teller.tell(told)
        self._box.note(told.now, told.mode, packet, command, events)
        spells, self._spells = spoken(told.now, events, self._spells)
        for event in spells:
            if event.kind in CLAMPS:  # a bold policy meets them all the time: counted is enough
                continue
            said = [told.cycle, round(told.now, 4), event.kind.value, int(event.level)]
            data = json.dumps([*said, event.detail[:120]]).encode()
            self._events.put(data[:EVENT_SIZE])
        if told.cycle % BEAT == 0 or told.mode is Mode.FAULT:
            self._pulse.beat(told.cycle, mode=told.mode.value, unsent=lost)

    def close(self) -> None:
        for each in (self._teller, self._box, self._events, self._pulse):
            each.close()


class Loop:
    """Cycle after cycle, on a clock."""

    def __init__(
        self,
        limits: Limits,
        clock: Clock,
        link: Link,
        ears: Ears,
        mouth: Mouth,
        start: str = "new",
        leader: Lead | None = None,
    ) -> None:
        """`leader`: a look at whoever looks after this gate; None: nobody does."""
        self.limits, self.clock, self.link, self.ears, self.mouth = limits, clock, link, ears, mouth
        self._leader = leader
        self.state = first(limits, mouth.last, start)
        self._cycle = 0 if mouth.last is None else mouth.last.cycle
        self._due = clock.now()

    def run(self, ending: child.Ending) -> str:
        """Until asked to end, or nobody looks: then lie down first, if there is a robot standing.

        Returns why it ended, "" if somebody asked for it.
        """
        asked: float | None = None  # when the end was asked for, on the clock
        why = ""
        while asked is None or (self.serves and self.clock.now() - asked <= PATIENCE):
            leave: tuple[Order, ...] = ()
            if asked is None and (ending.asked or (why := self._unled())):
                asked = self.clock.now()
                leave = (Order.LIE_DOWN,) if self.serves else ()
            self.cycle(leave)
        if why and not self.state.fault and not self.serves:  # a person looks before it stands up
            self.state = replace(self.state, fault=why)
            self.cycle()
        return why

    @property
    def serves(self) -> bool:
        """Whether the motors hold the robot."""
        return self.state.mode in SERVO_MODES

    def _unled(self) -> str:
        """Why to end unasked: nobody looks, and the robot is not limp. "": no reason."""
        if self._leader is None or not self.serves or not self._leader.lost():
            return ""
        return self._leader.why

    def cycle(self, own: Iterable[Order] = ()) -> None:
        """Wait for the next instant, hear, decide, send, tell."""
        period = self.limits.period
        self._due += period
        now = self.clock.wait(self._due)
        if now - self._due > BEHIND * period:
            self._due = now
        packet = self.link.receive()
        orders = (*self.ears.orders.waiting(), *own)
        wish = self.ears.wishes.newest()
        command, self.state, events = gate.step(self.limits, now, packet, wish, orders, self.state)
        self.link.send(command)
        self._cycle += 1
        told = told_of(self._cycle, now, self.state, self.ears.pose(now))
        self.mouth.say(told, packet, command, events, self.link.counts["unsent"])
        if orders:
            self.ears.orders.obeyed()  # last: a gate killed before this leaves them to the next


def told_of(cycle: int, now: float, state: GateState, where: mailbox.Pose | None) -> Told:
    """What there is to say about a cycle."""
    return Told(
        cycle=cycle,
        now=now,
        mode=state.mode,
        since=state.since,
        fault=state.fault,
        state=state.seen.state,
        fresh=state.seen.fresh,
        heard=state.seen.time if state.seen.state is not None else 0.0,
        target=state.pose.target,
        ready=state.mode is Mode.STAND and pose.finished(state.pose),
        pose=where,
        counts=state.counts,
    )


class Events:
    """An ear for what the gate found and did, in words."""

    def __init__(self, folder: Path) -> None:
        """From now on."""
        self._slots = slots.Reader(shared(folder) / "events", EVENTS)
        found = self._slots.newest()
        self._number = 0 if found is None else found[0]

    def new(self) -> list[dict[str, Any]]:
        """What was not returned yet, oldest first."""
        found = []
        for number, data in self._slots.since(self._number):
            self._number = number
            with suppress(ValueError):  # a detail in many-byte letters was cut off
                found.append(dict(zip(NAMES, json.loads(data.rstrip(b"\0")), strict=True)))
        return found

    def close(self) -> None:
        self._slots.close()


def interventions(counts: Counts) -> int:
    """How often the gate stepped in, of all it counts; trimming a target is counted apart."""
    return sum(counts[kind] for kind in Kind if kind not in (*CLAMPS, *PLAIN))


def clamps(counts: Counts) -> int:
    """How often it began to trim what the policy wished."""
    return sum(counts[kind] for kind in CLAMPS)


def _hurry() -> None:
    """Ask for the processor before all others, where that is allowed; no pauses for garbage."""
    gc.freeze()
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))


if __name__ == "__main__":
    child.enter(main)
