"""`ursa robot train --dry-run`: the robot is heard, and hears nothing but the limp command."""

import re
import sys
import threading
from contextlib import closing, contextmanager

import jaxtyping
import numpy as np
import pytest

from emulator.emulated import LIMITS
from gate.gated import is_limp
from live.silent import Robot
from ursa import cli
from ursa.emulator.emulator import Emulator
from ursa.emulator.script import parse
from ursa.emulator.serving import Server, listening, step_shared
from ursa.errors import UserError
from ursa.gate.link import FAREWELLS
from ursa.gate.wire import Command, decode_command
from ursa.live import listening as dry
from ursa.live import ready, train_command
from ursa.live.settings import Live
from ursa.shared.keeper import Keeper, forget

SECONDS = 2.0  # 1,000 cycles
LINE = re.compile(
    r"(500|499) states a second, longest gap [24] ms; tilt [01] degrees; motors 29 to (29|30) C; "
    r"battery not told; remote in touch"
)


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@contextmanager
def emulated(path, script=None):
    """An emulated robot on a shared clock; its settings, the robot, and what it was told."""
    keeper = Keeper(path)
    emulator = Emulator(start=keeper.now(), seed=3, script=parse(script or {}))
    server, told, over = Server(emulator, listening(("127.0.0.1", 0))), [], threading.Event()
    hear = emulator.hear

    def noted(now, data):
        told.append(decode_command(data))
        hear(now, data)

    emulator.hear = noted

    def serve():
        while not over.is_set():
            if keeper.attending() and keeper.settled():
                step_shared(server, keeper)

    thread, interval = threading.Thread(target=serve, daemon=True), sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    thread.start()
    try:
        link = "udp://{}:{}".format(*server.local)
        yield Live(link=link, clock=f"shared:{path}"), emulator, told
    finally:
        over.set()
        thread.join()
        sys.setswitchinterval(interval)
        server.close()
        keeper.close()
        forget(path)


def heard(path, script=None):
    """What is said of an emulated robot; what it was told; how far its joints went meanwhile."""
    said = []
    with emulated(path, script) as (live, emulator, told):
        before = emulator.rig.physics.ticks.joint_angle[0, -1].copy()
        assert dry.listen(live, said.append, SECONDS) == 0
        moved = np.abs(emulator.rig.physics.ticks.joint_angle[0, -1] - before).max()
    return said, told, moved


def unmoved(told, moved):
    """Whether nothing that was told could move anything, and no joint did more than sag.

    A robot that lies with its brakes on sinks by 0.04 rad when it is limp; standing up takes 1.
    """
    return all(is_limp(command) for command in told) and moved < 0.1


def test_an_emulated_robot_is_heard_in_full_and_told_to_be_limp_only(tmp_path):
    said, told, moved = heard(tmp_path / "clock")
    assert len(told) >= 990  # not those that were under way at the end
    assert unmoved(told, moved)
    seconds, legs, last = said[:2], said[2:-1], said[-1]
    for each in seconds:
        assert LINE.fullmatch(each), each
    assert [each[:3] for each in legs] == ["FR:", "FL:", "BR:", "BL:"]
    assert all("hip " in each and "lower -2." in each for each in legs)  # it lies, folded
    assert last.startswith(f"dry run: {1000 + FAREWELLS:,} limp commands were sent and nothing")


def test_one_that_asks_it_to_stand_is_seen(tmp_path, monkeypatch):
    """Sabotage."""
    zero = np.zeros(12)
    stand = Command(angle=LIMITS.stance, speed=zero, torque=zero, kp=LIMITS.kp, kd=LIMITS.kd)
    monkeypatch.setattr(dry, "command", lambda limits: stand)
    _, told, moved = heard(tmp_path / "clock")
    assert not unmoved(told, 0.0)
    assert not unmoved([], moved)


def test_what_would_keep_it_from_standing_up_is_told(tmp_path):
    said, told, moved = heard(tmp_path / "clock", {"start": {"celsius": 47.0}})
    assert unmoved(told, moved)
    assert any("it would not stand up now: motors still at 4" in each for each in said)


def test_a_bad_way_to_it_is_told(tmp_path):
    """At 0.2 s the cable is out for 60 ms, and one packet in twenty is damaged."""
    pulled = {"kind": "pull", "at": 0.2, "seconds": 0.06}
    said, told, moved = heard(tmp_path / "clock", {"link": {"corrupt": 0.05}, "fault": [pulled]})
    assert unmoved([each for each in told if isinstance(each, Command)], moved)
    apart = re.compile(r"states came up to 6\d ms apart: the gate holds the robot after 20 ms .*")
    assert any(apart.match(each) for each in said), said
    assert any("packets were damaged" in each for each in said)


def fallen(path, seconds):
    """What is said of a robot whose cable is out for so long, from 0.2 s before the end on."""
    pulled = {"kind": "pull", "at": SECONDS - 0.2, "seconds": seconds}
    return heard(path, {"fault": [pulled]})[0]


def test_one_that_is_silent_in_the_very_instant_of_the_end_has_a_gap_like_any_other(tmp_path):
    """A robot of which a busy computer hears nothing for 0.3 s; at any other time that is told."""
    said = fallen(tmp_path / "clock", 0.3)
    assert any("states came up to 30" in each for each in said), said
    assert said[-1].startswith("dry run: ")


def test_one_that_was_heard_and_is_no_longer_fell_silent(tmp_path):
    with pytest.raises(UserError) as caught:
        fallen(tmp_path / "clock", 60.0)
    told = re.search(
        r"the robot fell silent (.*) s before the end; (.*) states before", str(caught.value)
    )
    assert told is not None, caught.value
    assert told[1] == "1.2"  # it was waited for
    assert 890 < int(told[2]) <= 900


def test_without_that_second_chance_would_decide(tmp_path, monkeypatch):
    """Sabotage: heard for all but the last 0.2 s."""
    monkeypatch.setattr(dry, "MORE", 0.0)
    with pytest.raises(UserError, match=r"fell silent 0\.2 s before the end; \d{3} states before"):
        fallen(tmp_path / "clock", 0.3)


def test_a_robot_that_says_nothing_is_told_with_what_was_tried():
    with closing(Robot()) as robot:
        live = Live(link="udp://{}:{}".format(*robot.address))
        with pytest.raises(UserError, match=r"the robot is silent \(\d+ sent\); is it switched"):
            dry.listen(live, print, 0.01)
        told = robot.heard()
    assert len(told) > FAREWELLS
    assert all(is_limp(command) for command in told)


@pytest.fixture
def words(tmp_path):
    """A command for a robot that never answers."""
    with closing(Robot()) as robot:
        link = "udp://{}:{}".format(*robot.address)
        more = ["--preset", "tiny", "--room", "0", "--out", str(tmp_path / "run"), "--dry-run"]
        yield ["robot", "train", "--link", link, *more], tmp_path / "run"


def never(*_):
    raise AssertionError("a dry run makes nothing and starts nobody")


def test_a_dry_run_checks_all_makes_nothing_and_starts_nobody(words, monkeypatch, capsys):
    for name in ("Supervisor", "create"):
        monkeypatch.setattr(train_command, name, never)
    monkeypatch.setattr(ready, "ANSWER", 0.01)
    assert cli.main(words[0]) == 2
    assert "no robot answered" in capsys.readouterr().err
    monkeypatch.setattr(ready, "check", lambda folder, live, say: None)
    monkeypatch.setattr(dry, "listen", lambda live, say: 0)
    assert cli.main(words[0]) == 0
    assert not words[1].exists()


def test_without_the_flag_it_would_be_a_run(words, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(train_command, "create", never)
    monkeypatch.setattr(ready, "check", lambda folder, live, say: None)
    with pytest.raises(AssertionError, match="makes nothing"):
        cli.main(words[0][:-1])
    assert words[1].exists()
