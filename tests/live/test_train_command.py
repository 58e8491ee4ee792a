"""`ursa robot train` and `ursa robot stop`: what is refused in words before a robot hears of it."""

import os
from dataclasses import asdict, replace

import pytest

from live.screens import Screen, at_terminal
from live.stacked import LIMIT, live_of, stacked, until
from log.logs import quick
from ursa import durable
from ursa.config import alone
from ursa.errors import UserError
from ursa.gate import driven, mailbox
from ursa.gate.limits import described
from ursa.live import guided, settings, stop_command, train_command
from ursa.live.settings import Live, Modules, Patience
from ursa.presets import preset
from ursa.robot import registry as robots
from ursa.robot.a1 import A1
from ursa.run import folder as folders
from ursa.run import preflight
from ursa.run.plan import method_of
from ursa.shared import place
from ursa.task import registry as tasks

LINK = ["--link", "udp://127.0.0.1:8007"]


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    place.forget(tmp_path)


def settled(*words):
    return train_command.settled(train_command.parse(list(words)))


def test_flags_become_a_config_of_one_robot_and_the_settings_beside_it(tmp_path):
    words = ("--preset", "tiny", "--steps", "900", "--out", str(tmp_path / "a"), "--limits")
    config, out, live = settled(*LINK, *words, "reach", "0.1", "late_hold", "3")
    assert (config.seeds, config.train.robots, config.train.steps) == (1, 1, 900)
    assert out == tmp_path / "a"
    assert (live.link, live.rows, live.acknowledge) == ("udp://127.0.0.1:8007", 900, "operator")
    assert live.gate_limits().reach == 0.1
    assert live.gate_limits().late_hold == 3
    assert (live.modules, live.start) == (Modules(), "new")
    assert live.layout.sizes == preflight.check(config)


@pytest.mark.parametrize("method", ["ursa", "daydreamer", "dominic"])
@pytest.mark.parametrize("feature", ["vae", "identity"])
def test_the_rows_are_as_wide_as_the_skills_of_the_method(method, feature):
    words = ("--preset", "tiny", "--method", method, "--skill.feature", feature)
    config, _, live = settled(*LINK, *words)
    sizes = preflight.check(config)
    spec_task = tasks.task(config.task, robots.robot(config.robot), config)
    assert live.skill == method_of(config, spec_task, sizes).skill_size


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--link is missing"),
        ([*LINK, "--seeds", "2"], "there is one robot"),
        ([*LINK, "--train.robots", "8"], "there is one robot"),
        (["--link", "http://x"], "want udp://HOST:PORT"),
        ([*LINK, "--robot", "point", "--task", "point"], "has no legs"),
        ([*LINK, "--robot", "go2"], "robot go2 cannot be driven, only an A1"),
        ([*LINK, "--limits", "reach", "7"], "reach = 7, allowed 0.01 to 0.2"),
        ([*LINK, "--limits", "raech", "0.1"], "did you mean reach?"),
        ([*LINK, "--limits", "remote", "0.5"], "remote = 0.5, allowed 1 (or true) and 0"),
        ([*LINK, "--clock", "sundial"], "want wall, or shared:PATH"),
        (["--link", "udp://10.0.0.9:1", "--acknowledge", "emulator"], "on this machine"),
        ([*LINK, "--world.deter", "0"], "world.deter = 0"),
    ],
)
def test_a_mistake_is_answered_in_words(words, said):
    with pytest.raises(UserError) as caught:
        settled("--preset", "tiny", *words)
    assert said in str(caught.value)


def test_a_robot_whose_limits_are_wider_is_not_sent_the_packets_of_an_a1():
    with pytest.raises(
        UserError, match=r"FR\.hip goes from -1\.0472 to 1\.0472 rad, allowed -0\.8"
    ):
        settings.check(Live(robot="go2"))


def test_without_that_look_it_would_be(monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(driven, "refuse_other", lambda spec: None)
    settings.check(Live(robot="go2"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"upper": 0.7}, ""),
        ({"upper": 0.8029}, r"goes from -0\.802851 to 0\.8029 rad"),
        ({"torque": 34.0}, r"torque 34, allowed 33\.5 N m"),
        ({"speed": 22.0}, "speed 22, allowed 21 rad/s"),
        ({"name": "FR.waist"}, r"its joints are FR\.waist"),
    ],
)
def test_a_robot_of_ones_own_is_driven_if_all_it_may_do_is_good_for_an_a1(changes, said):
    high = min(changes.get("upper", 0.8), A1.joints[0].high)
    first = replace(A1.joints[0], **changes, high=high)
    legs = () if "name" in changes else A1.legs
    mine = replace(A1, name="mine", joints=(first, *A1.joints[1:]), legs=legs, roll=())
    if not said:
        driven.refuse_other(mine)
        return
    with pytest.raises(UserError, match=said):
        driven.refuse_other(mine)


def agent_of(folder, task, seeds=("seed_0",)):
    """A run's folder with as much of an agent as can be told without its networks."""
    for seed in seeds:
        (folder / "agent" / seed).mkdir(parents=True)
    (folder / "agent").mkdir(exist_ok=True, parents=True)
    config = replace(alone(preset("tiny")), task=task)
    durable.write(folder / "agent" / "config.json", durable.to_json(asdict(config)))
    return folder


def test_who_shall_walk_it_home_is_looked_at_before_anything_starts(tmp_path, monkeypatch):
    for homing, said in (
        ("/nope", "homing = /nope: there is no agent; want the folder of an agent of a1 / veloc"),
        (agent_of(tmp_path / "empty", "velocity", ()), "there is no agent"),
        (agent_of(tmp_path / "other", "forward"), "an agent of a1 / forward; want the folder"),
        ("a1-forward", "an agent of a1 / forward"),  # one that is shipped
    ):
        with pytest.raises(UserError, match=said):
            settled("--preset", "tiny", *LINK, "--homing", str(homing))
    agent_of(tmp_path / "right", "velocity")
    monkeypatch.chdir(tmp_path)
    _, _, live = settled("--preset", "tiny", *LINK, "--homing", "right")
    assert live.homing == str(tmp_path / "right")  # the next start may be from elsewhere
    assert settled("--preset", "tiny", *LINK)[2].homing == "a1-velocity"
    assert settled("--preset", "tiny", *LINK, "--homing", "script")[2].homing == ""


def test_without_that_look_the_robot_would_be_up_before_it_is_found(monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(guided, "checked", lambda homing, robot: homing)
    assert settled("--preset", "tiny", *LINK, "--homing", "/nope")[2].homing == "/nope"


def test_a_run_goes_on_with_what_it_has_unless_told_otherwise(folder):
    config = alone(preset("tiny"))
    durable.write(folder / "config.json", durable.to_json(asdict(config)))
    modules = Modules(actor="live.stub_acting")
    live = live_of(folder, modules=modules, ratio_most=0.5, limits={"reach": 0.1})
    settings.write(folder, live)
    again, out, found = settled("--resume", str(folder))
    assert (again, out) == (config, folder)
    assert found == replace(
        live,
        start="resumed",  # so that a person looks before it stands up
        rows=config.train.steps,
        skill=found.skill,
        **vars(preflight.check(config)),
    )
    _, _, moved = settled("--resume", str(folder), "--link", "udp://127.0.0.1:9999")
    assert moved.link == "udp://127.0.0.1:9999"
    with pytest.raises(UserError, match="goes on with the settings it began with"):
        settled("--resume", str(folder), "--world.deter", "99")
    with pytest.raises(UserError, match="leave out --out"):
        settled("--resume", str(folder), "--out", "elsewhere")


def resumed_with(folder, *words):
    """The limits of a run that began with two narrower ones, when it goes on."""
    durable.write(folder / "config.json", durable.to_json(asdict(alone(preset("tiny")))))
    settings.write(folder, live_of(folder, limits={"reach": 0.1, "rate": 4}))
    return settled("--resume", str(folder), *words)[2].limits


@pytest.mark.parametrize(
    ("words", "limits"),
    [
        ([], {"reach": 0.1, "rate": 4}),
        (["--limits", "rate", "1.5"], {"reach": 0.1, "rate": 1.5}),
        (["--limits", "rate", "8", "late_hold", "3"], {"reach": 0.1, "rate": 8, "late_hold": 3}),
    ],
)
def test_a_run_that_goes_on_keeps_its_limits_but_for_those_that_are_named(folder, words, limits):
    found = resumed_with(folder, *words)
    assert found == limits
    assert {name: type(value) for name, value in found.items()} == {
        name: type(value) for name, value in limits.items()
    }


def test_the_remote_is_asked_for_with_a_one():
    live = settled("--preset", "tiny", *LINK, "--limits", "remote", "1", "reach", "0.1")[2]
    assert live.gate_limits().remote is True


@pytest.mark.parametrize(
    ("clock", "gate", "said"),
    [
        ("wall", 0.0, ""),
        ("wall", 0.5, ""),
        ("wall", 0.51, r"patience\.gate = 0\.51: want at most 0\.5 s on a wall clock"),
        ("wall", 3600.0, r"patience\.gate = 3600\.0: want at most 0\.5 s on a wall clock"),
        ("shared:/dev/shm/x", 60.0, ""),
    ],
)
def test_a_gate_that_hangs_is_borne_for_half_a_second_and_no_setting_makes_it_more(
    folder, clock, gate, said
):
    live = Live(clock=clock, patience=Patience(gate=gate))
    if not said:
        settings.write(folder, live)
        assert settings.read(folder).patience.gate == gate
        return
    with pytest.raises(UserError, match=said):
        settings.write(folder, live)


def test_without_that_bound_a_file_could_widen_it(folder, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(settings, "HUNG", {"wall": 3600.0, "shared": 5.0})
    live = Live(patience=Patience(gate=3600.0))
    settings.write(folder, live)
    assert settings.watched(settings.read(folder)).patience.gate == 3600.0


def test_limits_that_are_replaced_as_a_whole_would_lose_the_others(folder, monkeypatch):
    """Sabotage: as if nothing was known of the run from before."""
    monkeypatch.setattr(train_command.living, "read", lambda folder: Live(link=LINK[1]))
    assert resumed_with(folder, "--limits", "rate", "1.5") == {"rate": 1.5}


def test_an_old_run_is_never_begun_anew(folder):
    config = alone(preset("tiny"))
    folders.begin(folder, config)
    with pytest.raises(UserError, match="holds a run already"):
        train_command.train([*LINK, "--preset", "tiny", "--out", str(folder)])


def test_the_help_teaches_how_to_stop(capsys):
    with pytest.raises(SystemExit) as left:
        train_command.train(["--help"])
    assert left.value.code == 0
    said = capsys.readouterr().out
    for word in (
        "SAFETY",
        "space or Enter",
        "ursa robot stop",
        "--link",
        "--resume",
        "Ctrl-C",
        "--dry-run",
    ):
        assert word in said
    for line in described().splitlines():  # every limit, with its default and range
        assert line in said


def test_stop_says_when_there_is_nothing_to_stop(folder, monkeypatch):
    with pytest.raises(UserError, match=r"there is no live\.json"):
        stop_command.stop(folder)
    settings.write(folder, Live())
    with pytest.raises(UserError, match=r"nobody runs this robot now \(its gate said last: noth"):
        stop_command.stop(folder)  # it ended in order and gave its memory back
    mailbox.create(folder)
    monkeypatch.setattr(stop_command, "WAIT", 0.01)
    with pytest.raises(UserError, match="nobody runs this robot now"):
        stop_command.stop(folder)
    with pytest.raises(UserError, match="nobody runs this robot now"):
        stop_command.stop(folder, end=True)
    with pytest.raises(UserError, match="choose one"):
        stop_command.stop(folder, end=True, acknowledge=True)


TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # as a shell would have it: the keys are ours
os.execv(sys.executable, [sys.executable, "-m", "ursa", "robot", "train", *sys.argv[1:]])
"""


def test_at_a_terminal_a_key_stops_another_acknowledges_and_ctrl_c_ends_in_order(tmp_path):
    place_of_run = quick(tmp_path)
    with stacked(place_of_run) as stack:
        config = train_command.alone(preset("tiny"))
        config = replace(config, train=replace(config.train, steps=100_000))
        durable.write(place_of_run / "config.json", durable.to_json(asdict(config)))
        settings.write(place_of_run, replace(stack.live, room=0.0))
        words = ["-c", TERMINAL, "--resume", str(place_of_run)]
        stack.supervisor, ours = at_terminal(words)
        screen = Screen(ours)
        until(lambda: screen.shows("RUN"), "it runs")
        stack.grows()
        os.write(ours, b" ")
        until(lambda: screen.shows("FAULT: stop by order"), "it stopped")
        assert "presses `a` twice here" in screen.text
        assert "keys: s, space or Enter stops the robot" in screen.text
        os.write(ours, b"aa")
        stack.grows()
        os.write(ours, b"\x03")  # Ctrl-C
        until(lambda: screen.shows("go on with: ursa robot train --resume"), "a farewell")
        assert stack.supervisor.wait(LIMIT) == 130
        os.close(ours)
