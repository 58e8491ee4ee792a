"""Stander: a gate of one's own for a robot, and the orders that make it stand up and follow.

For commands that use a robot without learning on it. The gate is a process, as in a run: it lays
the robot down when it is asked to end, and when we die; should it die or hang, we make the robot
limp as soon as a supervisor would, and give up. The keys of the terminal are those of a run, too,
and what the gate found and did is written down as in a run. Nothing stands up before a person has
looked: nobody knows what became of the robot since it was last used. One that lies on its back or
side while its motors serve gets up by the script of a run; one that is limp waits for a hand.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from ursa.errors import UserError
from ursa.gate import mailbox
from ursa.gate.machine import FOLLOWING
from ursa.gate.modes import Order
from ursa.gate.wired import Wired
from ursa.live import conduct, gating, keys, ready, settings
from ursa.live.conduct import Given
from ursa.live.gatekeeper import Gatekeeper
from ursa.live.gating import NEWS
from ursa.live.homeward import upright
from ursa.live.leaving import Leaving
from ursa.live.lift import Lift
from ursa.live.outlet import READING, Outlet
from ursa.live.scribe import Scribe
from ursa.live.settings import Live
from ursa.live.vigil import Vigil
from ursa.robot import registry as robots
from ursa.shared import place, pulse
from ursa.shared.clock import open_clock
from ursa.shared.sleepers import Sleepers

Say = Callable[[str], None]
LONG, LONGEST = 20.0, 600.0  # s for standing up, then somebody is told; then we give up
GONE = 30  # s for the gate to lie down and leave


class Stander:
    """Has the robot stand, and then follow; used as `set_down` of a wired engine."""

    def __init__(
        self,
        folder: Path,
        live: Live,
        orders: mailbox.Orderer,
        wishes: mailbox.Wishes,
        say: Say,
        watch: Callable[[], None] = lambda: None,
        present: bool = True,
        lift: Lift | None = None,
    ) -> None:
        """`watch` is called all the time, and raises when there is no gate any more; `present`:
        there are keys to press; `lift` gets up who has fallen, None: nobody does."""
        self._folder, self._live, self._orders, self._wishes = folder, live, orders, wishes
        self._say, self._watch, self._present = say, watch, present
        self._limits, self._itself = live.gate_limits(), live.acknowledge == "emulator"
        self._lift = lift or Lift(robots.robot(live.robot), 0.0)
        self._warned = 0  # number of the last rise that was announced

    def __call__(self, engine: Wired) -> None:
        """Stand up anew, also from running; returns when it stands upright and follows wishes."""
        begun, told_why, stood, given = engine.clock.now(), "", False, Given()
        announced = False  # it may be ordered again and again: a robot on its back does not obey
        while True:
            self._watch()
            if not self._lift.step(engine):
                engine.idle()
            told = engine.told
            if told is None:
                continue
            stood = stood or (told.ready and upright(engine.state.quaternion))
            if stood and engine.running:
                return
            lies = self._lies(told)
            if lies:
                self._warn()
            order = self._next(told, given, stood, lies)
            if order is not None:
                rises = order is Order.STAND and not told.ready and told.mode not in FOLLOWING
                if rises and not announced and upright(engine.state.quaternion):
                    announced = True
                    self._say("the robot stands up now; keep clear")
                self._orders.order(order)
                given = Given(order=order, time=told.now)
            if told.fault and told.fault != told_why:
                told_why = told.fault
                self._tell(told)
            waited = engine.clock.now() - begun
            if waited > LONGEST:
                what = self._why(told)
                raise UserError(f"the robot did not stand up within {LONGEST:g} s: {what}")
            if waited > LONG and not told_why and not lies:
                told_why = "late"
                what = self._why(told)
                self._say(f"the robot does not stand up; set it on its belly: {what}")

    def _lies(self, told: mailbox.Told) -> bool:
        """Whether it lies on its back or side, and the script will see to that."""
        serves = told.mode in FOLLOWING or told.ready
        if not (self._lift.able and serves) or told.state is None:
            return False
        return self._lift.busy or not upright(told.state.quaternion)

    def _warn(self) -> None:
        """Once for each time that it gets up, before it does."""
        riser = self._lift.riser
        number = riser.count + (not riser.rising)
        if number > self._warned:
            self._warned = number
            when = f"in {math.ceil(riser.left)} s" if riser.left else "now"
            self._say(f"the robot has fallen and gets up by itself {when}; keep clear")

    def _next(self, told: mailbox.Told, given: Given, stood: bool, lies: bool) -> Order | None:
        if told.mode in FOLLOWING and not stood:
            if lies:  # the script has it, or will
                return None
            again = given.order is not Order.STAND or told.now - given.time > 1.0
            return Order.STAND if again else None
        if told.ready and not stood and not lies:  # on nothing: somebody has to turn it over
            return None
        wish = self._wishes.newest()
        return conduct.next_order(
            self._limits, told, wish, given, rest=False, by_itself=self._itself
        )

    def _why(self, told: mailbox.Told) -> str:
        return why(told, self._folder, self._present)

    def _tell(self, told: mailbox.Told) -> None:
        """Why it does not stand, and what to do about it where a person has to."""
        if not self._itself or conduct.stopped_by_hand(told):
            self._say(self._why(told))
        elif told.fault not in NEWS:
            self._say(f"its gate is in {told.mode} {told.fault}")


@contextmanager
def gated(folder: Path, live: Live, say: Say, lift: Lift | None = None) -> Iterator[Wired]:
    """A robot behind a gate of our own; it lies down when the block ends, whatever way.

    `lift` gets it up when it has fallen; None: one as the settings ask for.
    """
    lift = lift or Lift(robots.robot(live.robot), live.get_up)
    with ExitStack() as stack:
        # Whoever looks after the gate must not wait for a terminal that nobody reads.
        words: Outlet[str] = Outlet(say, "words")
        stack.callback(words.close, READING)
        say = words.put
        ready.held(stack, folder, live, say)
        place.sweep(folder)
        stack.callback(forget, folder)
        live = asking(live)
        settings.write(folder, live)
        gating.create(folder, live)
        pulse.create(folder, "actor")  # we are nobody else: its counts are written down
        lift.begun = lambda number: counted(folder, number)
        scribe = stack.enter_context(closing(Scribe(folder, say)))
        pressed = stack.enter_context(closing(mailbox.Orderer(folder, "keys")))
        terminal = stack.enter_context(keys.of_terminal())
        terminal.listen(pressed.order, say)  # also while it lies down
        say(keys.described(terminal.present, folder))
        sleepers = stack.enter_context(closing(Sleepers(live.clock)))
        # No second gate: a person looks at the robot first, and the trial is lost anyhow.
        once = replace(live, restarts=replace(live.restarts, allowed=0))
        keeper = Gatekeeper(folder, once, say, sleepers.of("gate"))
        leaving = stack.enter_context(closing(Leaving()))
        stack.callback(keeper.ward.close)
        stack.callback(keeper.end, GONE)
        stack.callback(leaving.begin)  # whoever is in a hurry now must not leave the robot as it is
        vigil = stack.enter_context(closing(Vigil(keeper, scribe.keep)))
        ear = stack.enter_context(closing(mailbox.Listener(folder)))
        mouth = stack.enter_context(closing(mailbox.Wisher(folder)))
        wishes = stack.enter_context(closing(mailbox.Wishes(folder)))
        orders = stack.enter_context(closing(mailbox.Orderer(folder, "supervisor")))
        clock = stack.enter_context(closing(open_clock(live.clock, "actor")))
        engine = Wired(robots.robot(live.robot), live.gate_limits().period, ear, mouth, clock)
        begun: float | None = None  # when the gate spoke first: virtual time flies while it starts
        while not heard(engine):
            vigil.check()
            if begun is None and speaks(engine):
                begun = clock.now()
            if begun is not None and clock.now() - begun > LONG:
                raise UserError(f"the robot at {live.link} says nothing; is it switched on?")
            engine.idle()
        engine.set_down = Stander(
            folder, live, orders, wishes, say, vigil.check, terminal.present, lift
        )
        yield engine


def forget(folder: Path) -> None:
    """Give the memory back, unless the robot waits for a person: that is still known then."""
    with suppress(UserError), closing(mailbox.Listener(folder)) as ear:
        told = ear.newest()
        if told is not None and told.fault not in ("", *NEWS):
            return
    place.forget(folder)


def counted(folder: Path, number: int) -> None:
    """So often it got up by script; the scribe reads it, as a supervisor reads its actor's."""
    with closing(pulse.Pulse(folder, "actor")) as actor:
        actor.beat(number, rises=number)


def asking(live: Live) -> Live:
    """The same, with a gate that stays limp until a person has acknowledged, as a resumed run's."""
    return replace(live, start="resumed")


def why(told: mailbox.Told, folder: Path, present: bool = True) -> str:
    """What keeps a robot from standing, as its gate has it; and the way out."""
    here = "press `a` twice here or " if present else ""
    way = f"{here}say ursa robot stop {folder} --acknowledge"
    if told.fault in NEWS:
        what = "the robot is limp. Look at it, lay it on its belly, step back"
        return f"{what}; to have it stand: {way}"
    return f"its gate is in {told.mode} {told.fault}".rstrip() + (
        f"; look at the robot, then {way}" if told.fault else ""
    )


def heard(engine: Wired) -> bool:
    """Whether the gate tells of the robot now; what an earlier one told is still in memory."""
    return speaks(engine) and engine.told is not None and engine.told.state is not None


def speaks(engine: Wired) -> bool:
    """Whether there is a gate that tells anything now."""
    told = engine.told
    return told is not None and engine.clock.now() - told.now <= engine.spec.period
