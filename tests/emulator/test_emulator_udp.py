"""Gate and emulator over UDP on a shared clock: the same robot, to the bit, at any speed."""

import inspect
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import jaxtyping
import pytest

from emulator.emulated import LIMITS, PERIOD, Pilot, driven, gated, trotted_over_udp
from ursa.emulator import serving
from ursa.emulator.emulator import Emulator
from ursa.emulator.script import KINDS, Script, parse
from ursa.emulator.serving import Server, listening
from ursa.errors import UserError
from ursa.gate.link import Link
from ursa.gate.modes import Mode
from ursa.gate.where import Receiver
from ursa.live import emulate_command
from ursa.shared.clock import Shared
from ursa.shared.keeper import Keeper

CYCLES = 1500  # 3 s: up, and half of them in a trot
SCRIPT = {
    "link": {"latency": 0.001, "jitter": 0.003, "loss": 0.02, "duplicate": 0.02, "reorder": 0.02},
    "fault": [{"kind": "pull", "at": 2.5, "seconds": 0.2}],
}


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def test_over_udp_it_goes_the_way_it_goes_without_however_slow_a_party_is(tmp_path):
    script = parse(SCRIPT)
    direct = Emulator(start=1.0, seed=6, script=script)
    wanted = driven(direct, Pilot(), CYCLES * PERIOD)
    direct.close()
    for name, slow in (("quick", 0.0), ("slow", 0.02)):
        emulator, pilot, digest = trotted_over_udp(tmp_path / name, CYCLES, 6, script, slow)
        assert digest == wanted, name
        assert pilot.cycles == CYCLES
        assert emulator.audit.said == []


def test_without_waiting_for_sleepers_it_does_not(tmp_path, monkeypatch):
    """The clock runs on while the gate computes."""
    script = parse(SCRIPT)
    direct = Emulator(start=1.0, seed=6, script=script)
    wanted = driven(direct, Pilot(), 0.2)
    direct.close()
    monkeypatch.setattr("ursa.shared.keeper.Keeper.awake", lambda self: [])
    _, _, digest = trotted_over_udp(tmp_path / "clock", 100, 6, script, 0.02)
    assert digest != wanted


def test_a_trot_over_udp_gets_somewhere(tmp_path):
    emulator, pilot, _ = trotted_over_udp(tmp_path / "clock", 2400, 2)
    assert pilot.mode is Mode.RUN
    # Standing until 1.55 s, growing for a second, then 0.33 m/s: 3.2 s of it
    assert emulator.rig.place()[0] / 3.2 > 0.2
    assert emulator.audit.counts["violations"] == 0


def test_poses_are_told_50_times_a_second(tmp_path):
    emulator = Emulator(start=1.0)
    receiver = Receiver(("127.0.0.1", 0))
    server = Server(emulator, listening(("127.0.0.1", 0)), receiver.local)
    found = []
    for count in range(500):
        server.exchange(1 + count * 0.002, 1 + (count + 1) * 0.002)
        if (where := receiver.receive()) is not None:
            found.append(where)
    assert len(found) == 50
    assert (found[-1].x, found[-1].y) == pytest.approx(emulator.rig.place()[:2], abs=1e-3)
    receiver.close()
    server.close()


def test_a_port_in_use_is_refused():
    with (
        listening(("127.0.0.1", 0)) as first,
        pytest.raises(UserError, match="another emulator running there"),
    ):
        listening(first.getsockname())


# ---- the command --------------------------------------------------------------------------------

COMMAND = "from ursa.live.emulate_command import emulate; import sys; sys.exit(emulate({}))"


def started(*options: str) -> tuple[subprocess.Popen, tuple[str, int]]:
    code = COMMAND.format(", ".join(["port=0", "pose_port=0", *options]))
    child = subprocess.Popen(
        [sys.executable, "-c", "from pathlib import Path; " + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    line = child.stdout.readline()
    found = re.search(r"udp://([\d.]+):(\d+)", line)
    assert found, line
    return child, (found[1], int(found[2]))


def ended(child: subprocess.Popen, by: int) -> tuple[str, str]:
    child.send_signal(by)
    out, err = child.communicate()
    assert child.returncode == 0, err
    return out, err


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_a_gate_in_another_process_and_ends_cleanly(tmp_path, by):
    path, report = tmp_path / "clock", tmp_path / "report.json"
    child, robot = started(f"clock='shared:{path}'", f"report=Path('{report}')", "every=0.05")
    clock, pilot = Shared(path, "gate"), Pilot()
    with Link(robot, LIMITS.limp) as link:
        gated(clock, link, pilot, 1000, lambda: None)
    clock.close()
    _, err = ended(child, by)
    assert "Traceback" not in err
    assert re.search(r"\d+ commands, 0 outside the limits .* ended", err)
    book = json.loads(report.read_text())
    assert book["violations"] == 0
    assert book["commands"] >= 998  # not those that were under way when it ended
    assert pilot.mode is Mode.RUN


def test_a_second_emulator_on_one_clock_is_refused(tmp_path):
    child, _ = started(f"clock='shared:{tmp_path / 'clock'}'")
    with pytest.raises(UserError, match="in use by process"):
        emulate_command.emulate(clock=f"shared:{tmp_path / 'clock'}", port=0)
    ended(child, signal.SIGTERM)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"robot": "go2"}, 'unknown robot with packets to emulate "go2": valid are a1'),
        ({"engine": "chrono"}, 'unknown engine "chrono": valid are mujoco, pybullet'),
        ({"port": 70000}, "port = 70000, want a whole number from 0 to 65535"),
        ({"clock": "sundial"}, 'clock "sundial": want wall, or shared:PATH'),
        ({"clock": "shared:/nope/dir/x"}, "clock shared:/nope/dir/x: there is no folder /nope/dir"),
        ({"faults": Path("none.toml")}, "fault script none.toml: there is no such file"),
        ({"every": -1.0}, "every = -1.0, want a number >= 0"),
        ({"hand": 0.0}, "hand = 0.0, want a number > 0"),
        ({"patience": 0.0}, "patience = 0.0, want a number > 0"),
        ({"report": Path("no/where.json")}, "report no/where.json: there is no folder no"),
    ],
)
def test_bad_options_are_refused_before_anything_starts(options, said, monkeypatch):
    monkeypatch.setattr(emulate_command, "Emulator", None)
    with pytest.raises(UserError) as told:
        emulate_command.emulate(**options)
    assert said in str(told.value)


def test_the_help_teaches_every_kind_of_fault():
    help_text = inspect.getdoc(emulate_command.emulate) or ""
    for kind in KINDS:
        assert f"\n  {kind} " in help_text
    assert "Ctrl-C" in help_text
    assert "--hand 10" in help_text


@pytest.mark.parametrize(("hand", "helped"), [(None, False), (10.0, True)])
def test_a_robot_on_its_back_says_how_to_help_it_where_nobody_does(hand, helped):
    emulator = Emulator(script=Script(hand=hand), start=0.0)
    assert "upright, " in emulate_command.line(emulator)  # nothing to say
    emulator.rig.up = lambda: -1.0
    told = emulate_command.line(emulator)
    assert ("on its back, " in told) is helped
    script = "on its back (its run's script gets it up after --get-up seconds unless it is limp"
    assert (script in told) is not helped
    assert ("with --hand 10" in told) is not helped
    emulator.close()


@pytest.mark.parametrize(("options", "after"), [({}, None), ({"hand": 10.0}, 10.0)])
def test_the_flag_lends_a_hand(options, after, monkeypatch):
    """Nobody is started: what the robot would be given is looked at."""
    given = []

    def noted(**told):
        given.append(told["script"].hand)
        raise UserError("enough")

    monkeypatch.setattr(emulate_command, "Emulator", noted)
    with pytest.raises(UserError, match="enough"):
        emulate_command.emulate(port=0, **options)
    assert given == [after]


def test_a_second_emulator_that_sends_its_poses_to_the_same_port_says_so(monkeypatch, capsys):
    monkeypatch.setattr(emulate_command, "Emulator", None)  # nobody is started

    def said(port):
        with pytest.raises(TypeError):
            emulate_command.emulate(port=0, pose_port=port)
        return capsys.readouterr().out

    assert said(58017) == "poses go to udp://127.0.0.1:58017 (ursa robot train --pose ...)\n"
    first = serving.Source(58017)
    assert first.alone
    assert "AND SO DO THOSE OF ANOTHER EMULATOR: give this one --pose-port" in said(58017)
    assert "ANOTHER" not in said(58018)
    first.close()
    assert "ANOTHER" not in said(58017)


def test_it_says_for_whom_time_stands_still(tmp_path, capsys):
    keeper = Keeper(tmp_path / "clock")
    emulator = Emulator(start=keeper.now())
    gate = Shared(tmp_path / "clock", "gate")
    teller = emulate_command.Teller(emulator, keeper, 5.0, None)
    teller.tell(keeper.now())
    assert capsys.readouterr().err == ""
    teller._real -= 6.0
    teller.tell(keeper.now())
    assert "0 commands, 0 outside the limits" in (said := capsys.readouterr().err)
    assert "time stands still for gate" in said
    gate.close()
    keeper.close()
    emulator.close()


def test_a_slow_machine_skips_time_rather_than_chase_it(monkeypatch):
    """On the wall clock; virtual here."""
    emulator = Emulator(start=0.0)
    server = Server(emulator, listening(("127.0.0.1", 0)))
    # at first; then, each time it looks: before it takes in what came, after it, and before a nap
    looks = [(0.002,) * 3, (0.004,) * 3, (30.0,) * 3, (30.002,) * 3]
    times = iter([0.0, *(each for look in looks for each in look)])
    monkeypatch.setattr(serving.time, "monotonic", lambda: next(times))
    monkeypatch.setattr(server, "wait", lambda seconds: None)
    with pytest.raises(StopIteration):
        serving.serve_wall(server, lambda now: None)
    assert emulator.counts["skipped"] == 1
    assert emulator.rig.count < 5
    server.close()
