"""What the supervisor decides: when to give up, what to order, what to refuse."""

import io
import os
from dataclasses import replace

import pytest

from gate.gated import STANDING, said
from live.hanging import Time
from live.stacked import BRISK, LIMIT, live_of
from ursa.claim import Claim
from ursa.errors import UserError
from ursa.gate.heard import Wish
from ursa.gate.limits import limits_of
from ursa.gate.mailbox import Told
from ursa.gate.modes import Mode, Order
from ursa.live import conduct, dashboard, logbook, orphans, ready, settings
from ursa.live import ward as wards
from ursa.live.conduct import Given
from ursa.live.settings import Live, Modules, Restarts
from ursa.live.supervisor import GAVE_UP, LOCK, Supervisor
from ursa.live.ward import Ward
from ursa.robot.a1 import A1
from ursa.shared import place, pulse

LIMITS = limits_of(A1)


def told(mode, **changes):
    return Told(
        **{"cycle": 1, "now": 10.0, "mode": mode, "since": 5.0, "state": said(1), **changes}
    )


def wish(age=0.05):
    return Wish(angle=STANDING, sequence=1, time=10.0 - age)


def ordered(told, wish=None, given=None, rest=False, by_itself=False):
    given = Given() if given is None else given
    return conduct.next_order(LIMITS, told, wish, given, rest=rest, by_itself=by_itself)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Mode.DAMP, Order.STAND),
        (Mode.STAND, None),  # the ramp is not over
        (Mode.RUN, None),
        (Mode.HOLD, None),  # the gate goes on by itself
        (Mode.LIE_DOWN, None),
        (Mode.FAULT, None),  # needs a person
    ],
)
def test_a_robot_with_a_policy_is_led_from_limp_to_running(mode, expected):
    fault = "tilted" if mode is Mode.FAULT else ""
    assert ordered(told(mode, fault=fault), wish()) is expected


def test_a_robot_that_trouble_made_limp_waits_for_a_person_and_an_emulated_one_for_nobody():
    limp = told(Mode.DAMP, fault="joint too fast")
    assert ordered(limp, wish()) is None
    assert ordered(limp, wish(), by_itself=True) is Order.STAND
    assert ordered(replace(limp, fault=""), wish()) is Order.STAND  # somebody acknowledged


def test_it_runs_when_it_stands_and_the_policy_still_speaks():
    assert ordered(told(Mode.STAND, ready=True), wish()) is Order.RUN
    assert ordered(told(Mode.STAND, ready=True), wish(age=0.2)) is None  # 125 ms is too old


def test_nothing_stands_up_without_a_policy():
    assert ordered(told(Mode.DAMP), None) is None
    assert ordered(told(Mode.DAMP), wish(age=1.0)) is None
    assert ordered(None, wish()) is None


def test_a_refused_order_is_repeated_but_not_at_every_look():
    just = Given(order=Order.STAND, time=9.5)
    assert ordered(told(Mode.DAMP), wish(), just) is None
    assert ordered(told(Mode.DAMP), wish(), replace(just, time=9.0)) is Order.STAND
    assert ordered(told(Mode.DAMP), wish(), replace(just, time=90.0)) is Order.STAND  # a new clock


@pytest.mark.parametrize("mode", [Mode.STAND, Mode.RUN, Mode.HOLD])
def test_at_the_end_whatever_is_up_lies_down(mode):
    assert ordered(told(mode), wish(), rest=True) is Order.LIE_DOWN


@pytest.mark.parametrize("mode", [Mode.DAMP, Mode.LIE_DOWN, Mode.FAULT])
def test_at_the_end_nothing_else_is_ordered(mode):
    assert ordered(told(mode, fault="x"), wish(), rest=True, by_itself=True) is None


def test_only_a_fault_of_an_emulator_that_no_person_caused_is_acknowledged_by_itself():
    assert ordered(told(Mode.FAULT, fault="stale state"), by_itself=True) is Order.ACKNOWLEDGE
    assert ordered(told(Mode.FAULT, fault="stop by order"), by_itself=True) is None
    assert ordered(told(Mode.FAULT, fault="stop by the remote"), by_itself=True) is None


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    place.forget(tmp_path)


def hopeless(folder, **restarts):
    """What a supervisor says that cannot keep its recorder alive, and its exit code."""
    modules = Modules(
        **dict.fromkeys(("gate", "recorder", "learner", "actor"), "live.stub_crashing")
    )
    rule = Restarts(**{"first": 0.0, "most": 0.0, "allowed": 2, **restarts})
    live = live_of(folder, modules=modules, restarts=rule, clock="wall")
    settings.write(folder, live)
    heard = []
    supervisor = Supervisor(folder, live, Claim(folder / LOCK, folder), heard.append)
    code = supervisor.run(lambda: len(heard) > 50, lambda _: None)
    return code, "\n".join(heard)


def test_it_gives_up_when_a_role_dies_too_often_and_says_where_to_look(folder, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.dirname(__file__)))
    code, heard = hopeless(folder)
    assert code == GAVE_UP
    assert (
        "ended with exit code 3, 3 times in a row, each within 600 s of its start: giving up"
        in heard
    )
    assert str(folder / "logs") in heard


def test_a_mistake_that_a_person_must_put_right_is_not_tried_for_long(folder, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.dirname(__file__)))
    monkeypatch.setattr(logbook, "PATIENCE", LIMIT)  # the disk gives the last words, if late
    (folder / "mistaken").touch()
    code, heard = hopeless(folder, allowed=1000)
    assert code == GAVE_UP
    assert "ended with exit code 2, 4 times and never worked: giving up" in heard
    assert "ursa: the cable is green: use a red one" in heard


def test_a_process_that_was_started_but_never_showed_life_counts_as_hung(folder, monkeypatch):
    """`silent` goes below zero: later as long as it is starting than when it has beaten."""
    time = Time()
    monkeypatch.setattr(wards, "time", time)
    live = live_of(folder, clock="wall", patience=replace(BRISK, start=5.0, actor=2.0))
    ward = Ward(folder, live, "actor", print, lambda: False)
    ward._begun = ward._heard = time.now
    time.sleep(4.9)
    assert ward.silent > 0
    time.sleep(0.2)
    assert ward.silent < 0
    ward._first, ward._heard = False, time.now
    time.sleep(1.9)
    assert ward.silent > 0
    time.sleep(0.2)
    assert ward.silent < 0
    ward.close()


def test_a_living_process_of_an_earlier_start_is_waited_for(folder):
    pulse.create(folder, "gate")
    held = pulse.Pulse(folder, "gate")
    assert orphans.present(folder) == ["gate"]
    live = live_of(folder, clock="wall", patience=replace(BRISK, end=1.0))
    with pytest.raises(UserError, match="a process that this run did not start"):
        orphans.leave(folder, live, print)  # it is this test: nothing that may be killed
    held.close()
    assert orphans.present(folder) == []
    orphans.leave(folder, live, print)


BAD = {
    "link": ("tcp://x:1", "udp://HOST:PORT"),
    "pose": ("127.0.0.1", 'pose = "127.0.0.1": want udp://HOST:PORT of this machine'),
    "clock": ("sundial", "want wall, or shared:PATH"),
    "acknowledge": ("nobody", "want operator or emulator"),
    "ratio_most": (-1.0, "allowed 0.0001 to 64"),
    "arena_radius": (float("nan"), "allowed 0.2 to 1000"),
    "arena_margin": (9.0, "want less than arena_radius = 2.5"),
    "get_up": (90.0, "allowed 0 to 60 s"),
    "rows": (-5, "allowed 0 to 1e+09"),
    "limits": ({"reach": 9.0}, "reach = 9.0, allowed 0.01 to 0.2"),
    "robot": ("a2", 'unknown robot "a2"'),
    "modules": (Modules(actor="rm -rf"), 'modules.actor = "rm -rf": want ursa.live.acting'),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_setting_is_named_with_its_value_and_what_is_allowed(name, folder):
    value, allowed = BAD[name]
    with pytest.raises(UserError) as caught:
        settings.write(folder, replace(Live(), **{name: value}))
    assert allowed in str(caught.value)
    assert not (folder / "live.json").exists()


def test_a_robot_gets_up_before_its_gate_goes_limp_or_never():
    with pytest.raises(UserError, match=r"get_up = 30\.0: want less than 30 s, when the gate goes"):
        settings.check(replace(Live(), get_up=30.0))
    settings.check(replace(Live(), get_up=0.0, limits={"get_up": 1.0}))


def test_all_bad_settings_are_told_at_once():
    alone = ("robot", "arena_radius")  # they change what is wrong with others
    wrong = {name: value for name, (value, _) in BAD.items() if name not in alone}
    with pytest.raises(UserError) as caught:
        settings.check(replace(Live(), **wrong))
    assert all(allowed in str(caught.value) for name, (_, allowed) in BAD.items() if name in wrong)


def test_faults_of_a_real_robot_are_never_acknowledged_by_themselves():
    live = Live(link="udp://192.168.123.10:8007", acknowledge="emulator")
    with pytest.raises(UserError, match="on this machine"):
        settings.check(live)
    settings.check(replace(live, link="udp://127.0.0.1:8007"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"lnik": "x"}', 'unknown setting "lnik"'),
        ('{"rows": 1.5}', "rows = 1.5: want a whole number"),
        ('{"patience": {"gate": "long"}}', "patience.gate = 'long': want a number"),
        ('{"patience": 3}', "patience.: 3, want settings by name"),
        ("[]", "want settings by name"),
        ("{", "cannot be read"),
    ],
)
def test_a_settings_file_that_is_not_ours_is_refused_in_words(folder, text, complaint):
    (folder / "live.json").write_text(text)
    with pytest.raises(UserError) as caught:
        settings.read(folder)
    assert complaint in str(caught.value)


def test_settings_are_read_as_they_were_written(folder):
    live = live_of(folder, limits={"reach": 0.1, "late_hold": 3})
    settings.write(folder, live)
    assert settings.read(folder) == live


def test_a_run_is_refused_before_it_starts_for_want_of_disk_clock_and_robot(folder, monkeypatch):
    monkeypatch.setattr(ready, "ANSWER", 0.05)
    live = live_of(folder, room=1e6, clock="wall")
    with pytest.raises(UserError) as caught:
        ready.check(folder, live, print)
    assert "1000000.00 GB" in str(caught.value)
    assert "no robot answered within 0.05 s" in str(caught.value)
    with pytest.raises(UserError, match="nobody keeps it; start the emulator first"):
        ready.check(folder, live_of(folder, room=0.0), print)


def test_the_line_says_how_a_run_is_doing():
    status = dashboard.Status(
        rows=50, total=200, rate=20.0, updates=25, mode="run", interventions=3, clamps=9, restarts=1
    )
    assert dashboard.line(status) == (
        "25% rows 50/200  20.0 rows/s  ETA 0:07  updates 25  ratio 0.50  RUN  interventions 3  "
        "clamps 9  restarts 1"
    )
    endless = replace(status, total=0, rate=float("nan"), note="stop by order")
    assert dashboard.line(endless) == (
        "rows 50  - rows/s  updates 25  ratio 0.50  RUN  interventions 3  clamps 9  restarts 1  "
        "stop by order"
    )


def test_what_is_said_gets_a_line_of_its_own():
    stream = io.StringIO()
    board = dashboard.Dashboard(stream=stream)
    board.say("hello")
    assert stream.getvalue() == "ursa: hello\n"
