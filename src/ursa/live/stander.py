"""Stander: a gate of one's own for a robot, and the orders that make it stand up and follow.

For commands that use a robot without learning on it. The gate is a process, as in a run: it lays
the robot down when it is asked to end, and when we die; should it die or hang, we make the robot
limp as soon as a supervisor would, and give up. The keys of the terminal are those of a run, too.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
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
from ursa.live.homeward import upright
from ursa.live.settings import Live
from ursa.live.vigil import Vigil
from ursa.robot import registry as robots
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
    ) -> None:
        """`watch` is called all the time, and raises when there is no gate any more."""
        self._folder, self._live, self._orders, self._wishes = folder, live, orders, wishes
        self._say, self._watch = say, watch
        self._limits = live.gate_limits()

    def __call__(self, engine: Wired) -> None:
        """Stand up anew, also from running; returns when it stands upright and follows wishes."""
        begun, told_why, stood, given = engine.clock.now(), "", False, Given()
        while True:
            self._watch()
            engine.idle()
            told = engine.told
            if told is None:
                continue
            stood = stood or (told.ready and upright(engine.state.quaternion))
            if stood and engine.running:
                return
            order = self._next(told, given, stood)
            if order is not None:
                self._orders.order(order)
                given = Given(order=order, time=told.now)
            if told.fault and told.fault != told_why:
                told_why = told.fault
                self._say(why(told, self._folder))
            waited = engine.clock.now() - begun
            if waited > LONGEST:
                what = why(told, self._folder)
                raise UserError(f"the robot did not stand up within {LONGEST:g} s: {what}")
            if waited > LONG and not told_why:
                told_why = "late"
                what = why(told, self._folder)
                self._say(f"the robot does not stand up; set it on its belly: {what}")

    def _next(self, told: mailbox.Told, given: Given, stood: bool) -> Order | None:
        if told.mode in FOLLOWING and not stood:
            again = given.order is not Order.STAND or told.now - given.time > 1.0
            return Order.STAND if again else None
        if told.ready and not stood:  # it stands on nothing: somebody has to turn it over
            return None
        itself = self._live.acknowledge == "emulator"
        wish = self._wishes.newest()
        return conduct.next_order(self._limits, told, wish, given, rest=False, by_itself=itself)


@contextmanager
def gated(folder: Path, live: Live, say: Say) -> Iterator[Wired]:
    """A robot behind a gate of our own; it lies down when the block ends, whatever way."""
    with ExitStack() as stack:
        ready.held(stack, folder, live, say)
        settings.write(folder, live)
        gating.create(folder, live)
        sleepers = stack.enter_context(closing(Sleepers(live.clock)))
        # No second gate: a person looks at the robot first, and the trial is lost anyhow.
        once = replace(live, restarts=replace(live.restarts, allowed=0))
        keeper = Gatekeeper(folder, once, say, sleepers.of("gate"))
        stack.callback(keeper.ward.close)
        stack.callback(keeper.end, GONE)
        vigil = stack.enter_context(closing(Vigil(keeper)))
        pressed = stack.enter_context(closing(mailbox.Orderer(folder, "keys")))
        stack.enter_context(keys.of_terminal()).listen(pressed.order)
        ear = stack.enter_context(closing(mailbox.Listener(folder)))
        mouth = stack.enter_context(closing(mailbox.Wisher(folder)))
        wishes = stack.enter_context(closing(mailbox.Wishes(folder)))
        orders = stack.enter_context(closing(mailbox.Orderer(folder, "supervisor")))
        clock = stack.enter_context(closing(open_clock(live.clock, "actor")))
        engine = Wired(robots.robot(live.robot), live.gate_limits().period, ear, mouth, clock)
        begun = clock.now()
        while not heard(engine):
            vigil.check()
            if clock.now() - begun > LONG:
                raise UserError(f"the robot at {live.link} says nothing; is it switched on?")
            engine.idle()
        engine.set_down = Stander(folder, live, orders, wishes, say, vigil.check)
        yield engine


def why(told: mailbox.Told, folder: Path) -> str:
    """What keeps a robot from standing, as its gate has it."""
    return f"its gate is in {told.mode} {told.fault}".rstrip() + (
        f"; look at the robot, then press `a` here or say ursa robot stop {folder} --acknowledge"
        if told.fault
        else ""
    )


def heard(engine: Wired) -> bool:
    """Whether the gate tells of the robot now; what an earlier one told is still in memory."""
    told = engine.told
    current = told is not None and engine.clock.now() - told.now <= engine.spec.period
    return current and told is not None and told.state is not None
