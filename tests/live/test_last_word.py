"""A dead gate cannot say the last word: then the supervisor does. Limp, on every way out."""

from pathlib import Path

import numpy as np
import pytest

from gate.gated import LIMITS, STANDING, is_limp
from live.silent import DEAD, Robot
from live.stacked import live_of
from ursa.claim import Claim
from ursa.errors import UserError
from ursa.gate import farewell, mailbox
from ursa.gate.link import FAREWELLS, Link
from ursa.gate.modes import Mode
from ursa.gate.wire import Command
from ursa.live import dashboard, settings, stander
from ursa.live import supervisor as supervisors
from ursa.live import ward as wards
from ursa.live.keys import Keys
from ursa.live.settings import Restarts
from ursa.live.supervisor import GAVE_UP, INTERRUPTED, LOCK, Supervisor

STAND = Command(
    angle=STANDING, speed=np.zeros(12), torque=np.zeros(12), kp=np.full(12, 80.0), kd=np.ones(12)
)


@pytest.fixture
def robot():
    found = Robot()
    link = Link(found.address, LIMITS.limp)
    link.send(STAND)  # by a gate that was killed in this very moment
    link._socket.close()
    link._claim.close()
    yield found
    found.close()


def supervised(folder, robot, say=None, keys=None, **restarts):
    rule = Restarts(**{"first": 0.0, "most": 0.0, "allowed": 2, **restarts})
    link = "udp://{}:{}".format(*robot.address)
    live = live_of(folder, link=link, modules=DEAD, restarts=rule, clock="wall")
    settings.write(folder, live)
    said = []
    claim = Claim(folder / LOCK, folder)
    return Supervisor(folder, live, claim, say or said.append, keys), said


def raises(error):
    def show(_):
        raise error

    return show


def gone(_):
    raise BrokenPipeError(32, "Broken pipe")


WAYS = {
    "a role dies too often": (lambda: False, lambda _: None, GAVE_UP),
    "Ctrl-C": (lambda: True, lambda _: None, INTERRUPTED),
    "a second Ctrl-C": (lambda: False, raises(KeyboardInterrupt()), KeyboardInterrupt),
    "a defect": (lambda: False, raises(RuntimeError("broken")), RuntimeError),
    "told to exit": (lambda: False, raises(SystemExit(3)), SystemExit),
    "nobody to tell": (lambda: False, lambda _: None, GAVE_UP, gone),
    "nobody to tell of a defect": (lambda: False, raises(OSError(5, "EIO")), OSError, gone),
}


def reap(supervisor):
    """Of a bad end some may be left."""
    for ward in supervisor.wards.values():
        ward.kill()


def left(folder, robot, way):
    """The commands that a robot heard, first the one of the gate that died, when we have left."""
    stop, show, end, *say = WAYS[way]
    supervisor, _ = supervised(folder, robot, *say)
    try:
        if isinstance(end, int):
            assert supervisor.run(stop, show) == end
        else:
            with pytest.raises(end):
                supervisor.run(stop, show)
        return robot.heard()
    finally:
        reap(supervisor)


@pytest.mark.parametrize("way", WAYS)
def test_whatever_way_the_supervisor_leaves_a_robot_without_a_gate_is_limp(folder, robot, way):
    first, *rest = left(folder, robot, way)
    assert not is_limp(first)
    assert len(rest) >= farewell.CYCLES + FAREWELLS
    assert all(is_limp(each) for each in rest)


@pytest.mark.parametrize("way", WAYS)
def test_without_the_supervisors_word_it_would_stand_for_ever(folder, robot, way, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(farewell, "send", lambda *arguments: "")
    assert not is_limp(left(folder, robot, way)[-1])


@pytest.fixture
def touchy(monkeypatch):
    """Sabotage: whoever has nobody to tell ends of it."""
    monkeypatch.setattr(supervisors, "unfailing", lambda say: say)
    monkeypatch.setattr(wards, "unfailing", lambda say: say)


def test_one_who_speaks_first_and_ends_for_want_of_a_listener_would_leave_it_standing(
    folder, robot, touchy, monkeypatch
):
    """Sabotage."""
    monkeypatch.setattr(Supervisor, "_abandon", lambda self: self._say("ending in disorder"))
    with pytest.raises(BrokenPipeError):
        left(folder, robot, "nobody to tell")
    assert not is_limp(robot.heard()[-1])


def test_one_who_ends_of_it_but_acts_first_leaves_it_limp(folder, robot, touchy):
    with pytest.raises(BrokenPipeError):
        left(folder, robot, "nobody to tell")
    assert is_limp(robot.heard()[-1])


def test_at_a_bad_end_it_acts_first_and_speaks_last(folder, robot, monkeypatch):
    supervisor, said = supervised(folder, robot)
    end = supervisor._gatekeeper.end
    monkeypatch.setattr(supervisor._gatekeeper, "end", lambda it: said.append("acts") or end(it))
    with pytest.raises(KeyboardInterrupt):
        supervisor.run(lambda: False, raises(KeyboardInterrupt()))
    reap(supervisor)
    assert said[-1] == "ended in disorder: the robot was laid down first"
    assert said.index("acts") < len(said) - 1


class Listening(Keys):
    """Keys that note when nobody listens to them any more."""

    def __init__(self, noted):
        super().__init__(None)
        self._noted = noted

    def close(self):
        self._noted.append("deaf")
        super().close()


def at_a_bad_end(folder, robot):
    """What is done to robot and keys, in order."""
    noted = []
    supervisor, _ = supervised(folder, robot, keys=Listening(noted))
    end = supervisor._gatekeeper.end

    def laid_down(seconds):
        noted.append("lies down")
        end(seconds)
        noted.append("limp")

    supervisor._gatekeeper.end = laid_down
    with pytest.raises(KeyboardInterrupt):
        supervisor.run(lambda: False, raises(KeyboardInterrupt()))
    reap(supervisor)
    return noted


def test_at_a_bad_end_the_stop_key_is_heard_until_the_robot_is_limp(folder, robot):
    assert at_a_bad_end(folder, robot) == ["lies down", "limp", "deaf"]


def test_keys_that_are_closed_first_would_be_deaf_while_it_lies_down(folder, robot, monkeypatch):
    """Sabotage."""
    abandon = Supervisor._abandon
    monkeypatch.setattr(Supervisor, "_abandon", lambda it: (it._keys.close(), abandon(it)))
    assert at_a_bad_end(folder, robot)[0] == "deaf"


def test_the_robot_is_limp_as_soon_as_its_gate_is_found_dead(folder, robot):
    """Long before another gate is there, or the end."""
    supervisor, said = supervised(folder, robot, first=60.0, most=60.0, allowed=1000)
    heard = []
    supervisor.run(lambda: "the gate is gone" in "".join(said) and not heard.extend(robot.heard()),
                   lambda _: None)  # fmt: skip
    assert "55 limp commands were sent in its place, and the robot answered 0" in "".join(said)
    assert is_limp(heard[-1])


def test_a_gate_that_left_in_order_has_said_it_all(folder, robot):
    supervisor, _ = supervised(folder, robot)
    gate = supervisor.wards["gate"]

    class Left:
        """A process that ended as it should."""

        pid, returncode = 1, 0

        def poll(self):
            return 0

    gate._process = Left()
    assert supervisor.run(lambda: True, lambda _: None) == INTERRUPTED
    assert len(robot.heard()) == 1  # nothing but the command from before


def test_the_line_does_not_repeat_the_mode_of_a_dead_gate(folder, robot):
    supervisor, _ = supervised(folder, robot)
    ran = mailbox.Told(cycle=1, now=1.0, mode=Mode.RUN, since=0.5)
    assert dashboard._mode(supervisor, None) == "starting"
    assert dashboard._mode(supervisor, ran) == "no gate"
    supervisor.wards["gate"].ended = lambda: False
    assert dashboard._mode(supervisor, ran) == "run"
    supervisor.close()


def test_where_another_gate_lives_nothing_is_sent_and_that_is_told(robot):
    with Link(robot.address, LIMITS.limp):
        said = farewell.send(robot.address, LIMITS, sleep=lambda seconds: None)
        assert "could not be sent: the robot at 127.0.0.1" in said
        assert len(robot.heard()) == 1


def test_a_gate_of_ones_own_that_died_leaves_a_limp_robot_too(folder, robot, monkeypatch):
    """`ursa robot adapt`: the gate ends at once, and with it the command."""
    monkeypatch.setattr("ursa.live.ready.check", lambda *arguments: None)
    link = "udp://{}:{}".format(*robot.address)
    live = live_of(folder, link=link, modules=DEAD, clock="wall")
    said = []
    with (
        pytest.raises(UserError, match="the gate is gone; see what was said above"),
        stander.gated(folder, live, said.append),
    ):
        pass
    assert said[1].startswith("gate ended with exit code 3, 1 times in a row")
    assert "limp commands were sent in its place" in said[-1]
    assert is_limp(robot.heard()[-1])


def test_a_robot_that_waits_for_a_person_says_in_which_folder():
    told = mailbox.Told(cycle=1, now=1.0, mode=Mode.FAULT, since=0.5, fault="stop by order")
    said = stander.why(told, Path("outputs/a1/adapt"))
    assert said.endswith(
        "press `a` twice here or say ursa robot stop outputs/a1/adapt --acknowledge"
    )
