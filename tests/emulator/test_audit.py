"""The emulated robot notices every command that breaks a rule, and none that keeps them all."""

from dataclasses import replace

import numpy as np
import pytest

from gate.gated import LIMITS, STANDING, said
from ursa.emulator.audit import Audit
from ursa.gate.limits import limits_of
from ursa.gate.wire import Command
from ursa.robot.a1 import A1

ZERO = np.zeros(12)


def command(angle=STANDING, **changed) -> Command:
    stiff = Command(
        angle=np.array(angle, float), speed=ZERO, torque=ZERO, kp=LIMITS.kp, kd=LIMITS.kd
    )
    return replace(stiff, **changed)


def begun(spread: float = 0.0) -> Audit:
    """A robot that stands, and has been told to for one cycle."""
    audit = Audit(LIMITS, spread=spread)
    audit.tell(1.0, said(1))
    assert audit.hear(1.002, command()) is None
    audit.tell(1.002, said(2))
    return audit


def moved(by: float) -> np.ndarray:
    return STANDING + by * np.eye(12)[4]


GOOD = [command(), command(moved(0.024)), command(moved(-0.024)), LIMITS.limp]
BAD = {
    "not finite": command(moved(np.nan)),
    "fed forward": command(torque=ZERO + 1.0),
    "or speed fed": command(speed=ZERO + 1.0),
    "gains above": command(kp=LIMITS.kp + 1),
    "no damping": command(kd=ZERO),
    "target moved 0.0500 rad in 2.0 ms": command(moved(0.05)),
}


@pytest.mark.parametrize("good", GOOD)
def test_a_command_inside_the_limits_passes(good):
    audit = begun()
    assert audit.hear(1.004, good) is None
    assert audit.counts["violations"] == 0


@pytest.mark.parametrize("rule", BAD)
def test_a_command_outside_is_named(rule):
    audit = begun()
    wrong = audit.hear(1.004, BAD[rule])
    assert wrong is not None
    assert rule in wrong
    assert (audit.counts["violations"], len(audit.said)) == (1, 1)


def test_a_target_out_of_range_is_named():
    audit, low = begun(), STANDING.copy()
    low[2] = -2.66  # 0.014 rad beyond what a target may be
    for count in range(50):  # led there slowly
        share = min(1.0, count / 40)
        angle = STANDING + share * (low - STANDING)
        audit.tell(1.004 + count * 0.002, said(3 + count, angle))
        wrong = audit.hear(1.005 + count * 0.002, command(angle + 0.021 * (angle != STANDING)))
    assert wrong is None
    wrong = audit.hear(1.2, command(low - 0.03))
    assert wrong is not None
    assert "out of range" in wrong


def test_a_first_target_far_from_the_robot_is_named():
    for by, wrong in ((0.01, None), (0.03, "first target 0.030 rad from the robot")):
        audit = Audit(LIMITS)
        audit.tell(1.0, said(1))
        assert audit.hear(1.002, command(moved(by))) == wrong
        audit = begun()
        audit.silent()
        assert audit.hear(1.2, command(moved(by))) is not None  # said nothing for too long
        audit.tell(1.2, said(9))
        audit.silent()
        assert audit.hear(1.202, command(moved(by))) == wrong


def test_a_target_that_jumps_to_where_the_robot_is_begins_anew():
    audit = begun()
    audit.tell(1.003, said(3, moved(0.3)))
    assert audit.hear(1.004, command(moved(0.3))) is None


def dragged(cycles: int, held: bool, limits=LIMITS) -> list[str]:
    """What is said of a target that goes 0.02 rad a cycle away from a leg that is held fast, or
    that stays where it is while the leg goes."""
    audit = begun()
    audit.limits = limits
    for count in range(1, cycles + 1):
        now = 1.002 + 0.002 * count
        target, leg = (0.02 * count, 0.0) if held else (0.0, 0.02 * count)
        audit.tell(now, said(2 + count, moved(leg)))
        audit.hear(now + 0.001, command(moved(target), kp=ZERO + 10.0))
    return audit.said


def test_a_target_that_runs_away_from_its_leg_is_named():
    assert dragged(10, held=True) == []  # 0.2 rad are its reach
    (wrong,) = dragged(11, held=True)
    assert wrong.endswith("target 0.220 rad from the robot")


def test_a_leg_that_runs_away_from_its_target_is_not_the_gates_doing():
    assert dragged(100, held=False) == []  # 2 rad in the end, of which no state in memory is near


def test_one_that_does_not_look_at_the_reach_overlooks_it(monkeypatch):
    monkeypatch.setattr(Audit, "_unreached", lambda self, now, angle: None)
    assert dragged(11, held=True) == []


def test_a_narrowed_reach_is_judged_as_narrowed():
    narrow = limits_of(A1, {"reach": 0.1})
    assert dragged(5, held=True, limits=narrow) == []
    assert len(dragged(6, held=True, limits=narrow)) == 1


def test_too_much_torque_is_named():
    audit = begun()
    audit.tell(1.003, said(3, STANDING - 0.5, speed=ZERO))
    # 80 x 0.5 = 40 N m of 33.5; but the gate may still believe the state before
    assert audit.hear(1.004, command()) is None
    assert audit.hear(1.1, command()) is None
    audit.tell(1.15, said(4, STANDING - 0.5, speed=ZERO))
    wrong = audit.hear(1.19, command())
    assert wrong is not None
    assert wrong.startswith("asks for 40.00 N m")


def test_a_link_that_squeezes_commands_together_is_allowed_for():
    assert begun().hear(1.0021, command(moved(0.048))) is not None
    assert begun(spread=0.002).hear(1.0021, command(moved(0.048))) is None


def sent(times, speed, lag=0.0, stretch=None):
    """Violations of a target that moves so many rad/s by its gate's cycles of 2 ms, which arrive
    at those times after each other."""
    audit, now = begun(), 1.002
    audit.lag = lag
    for count, apart in enumerate(times):
        now += apart
        audit.tell(now, said(3 + count, moved(speed * 0.002 * count)))
        audit._way = audit._way if stretch is None else type(audit._way)(audit._way, stretch)
        audit.hear(now, command(moved(speed * 0.002 * (count + 1))))
    return audit.counts["violations"]


BUNCHED = [0.0035, 0.0005] * 20  # two and two, on a busy machine
HURRIED = [0.001] * 40  # a gate that sends twice as often as it should


def test_two_commands_that_arrive_together_are_two_cycles_of_the_gate():
    assert sent(BUNCHED, speed=12.0) == 0  # 0.024 rad in half a millisecond: as fast as allowed


def test_by_arrival_alone_they_would_be_too_fast(monkeypatch):
    """Sabotage: the other way round, a cycle is no time at all."""
    strict = replace(LIMITS, period=0.001)
    audit = begun()
    audit.limits = strict
    assert "in 0.5 ms" in str(audit.hear(1.0025, command(moved(0.024))))


def test_a_target_that_is_really_too_fast_is_found_bunched_or_not():
    assert sent([0.002] * 40, speed=13.0) > 10  # 0.026 rad a cycle of 0.024
    assert sent(BUNCHED, speed=13.0) > 10
    assert sent(HURRIED, speed=12.0) > 10  # each step is that of a cycle, but there are two


def test_one_that_looks_from_one_command_to_the_next_only_does_not_find_it():
    """Sabotage: 24 rad/s in steps of a cycle each."""
    assert sent(HURRIED, speed=12.0, stretch=1) == 0


def test_a_gate_that_was_late_with_one_command_and_not_with_the_next_keeps_the_rules():
    # decided at 0 and sent 5 ms later; then the step of two cycles that a gate makes at most
    for lag, wrong in ((0.002, None), (0.0, "target moved 0.0480 rad in 1.0 ms")):
        audit = begun()
        audit.lag = lag
        assert audit.hear(1.003, command(moved(0.048))) == wrong
    assert begun().hear(1.003, command(moved(0.05))) is not None


def test_commands_that_lay_about_while_this_machine_was_busy_are_allowed_for():
    audit = begun()
    audit.slack = 0.01
    assert audit.hear(1.0021, command(moved(0.1))) is None
    assert audit.hear(1.0021, command(moved(0.3))) is not None


def test_it_is_the_earlier_of_two_commands_that_may_have_lain_about():
    audit = Audit(LIMITS, slack=0.01)  # sent at 0.992 at the earliest, and looked at at 1.002
    audit.tell(1.0, said(1))
    assert audit.hear(1.002, command()) is None
    audit.slack = 0.0005
    assert audit.hear(1.0025, command(moved(0.1))) is None  # 12 x 0.0105 = 0.126
    assert audit.hear(1.0026, command(moved(0.3))) is not None


def test_a_target_that_was_overtaken_by_a_limp_command_is_no_first_one():
    for spread, wrong in ((0.01, False), (0.0, True)):
        audit = begun(spread)
        assert audit.hear(1.004, LIMITS.limp) is None
        audit.tell(1.004, said(3, moved(0.1)))
        audit.tell(1.005, said(4, moved(0.1)))
        for _ in range(300):  # all that it said before is forgotten
            audit.tell(1.006, said(5, moved(0.1)))
        assert (audit.hear(1.007, command(moved(0.02))) is not None) is wrong
        assert audit.hear(1.03, LIMITS.limp) is None
        assert audit.hear(1.06, command(moved(0.02))) is not None


def test_after_a_long_silence_a_target_is_a_first_one():
    audit = begun()
    audit.tell(1.1, said(3, moved(0.1)))
    assert audit.hear(1.1, command()) is None  # a gate may overlook a tenth of a second
    audit.tell(1.3, said(4, moved(0.1)))
    wrong = audit.hear(1.3, command())
    assert wrong is not None
    assert wrong.startswith("first target 0.100")


def test_an_old_target_that_a_new_beginning_has_overtaken_is_the_links_doing():
    audit = begun()
    fallen = replace(said(3), angle=moved(0.3))
    audit.tell(1.02, fallen)
    assert audit.hear(1.022, command(moved(0.3))) is None  # after a gap: where the robot is
    assert audit.hear(1.0225, command(moved(0.02)), overtaken=True) is None
    assert audit.hear(1.024, command(moved(0.31))) is None  # goes on from the new target
    assert (audit.counts["overtaken"], audit.counts["violations"]) == (1, 0)
    assert "moved" in str(audit.hear(1.0245, command(moved(0.02))))  # the same, not overtaken
    assert "not finite" in str(audit.hear(1.025, command(moved(np.nan)), overtaken=True))


def late(angle, monkeypatch=None, believed=STANDING):
    """What is said of a target that was overtaken; with `monkeypatch`: as far as moves go, too."""
    audit = begun()
    if monkeypatch is not None:
        monkeypatch.setattr(Audit, "_astray", lambda self, now, command: self._unfit(command))
    for count in range(300):  # nothing else may still be believed
        audit.tell(1.003 + count * 1e-6, said(3 + count, believed, speed=ZERO))
    return audit.hear(1.004, command(angle), overtaken=True), audit.counts["violations"]


def test_a_late_command_is_judged_by_all_but_how_far_it_moves():
    far = np.where(np.arange(12) == 4, 9.0, STANDING)
    wrong, count = late(far)
    assert "9.0" in str(wrong)
    assert "out of range" in str(wrong)
    assert count == 1
    # 80 x 0.5 = 40 N m of 33.5, wherever it came from; 80 x 0.4 = 32 is a long way, and allowed
    wrong, count = late(STANDING, believed=STANDING - 0.5)
    assert (wrong, count) == ("asks for 40.00 N m", 1)
    assert late(moved(0.4)) == (None, 0)


def test_one_that_looks_at_gains_only_overlooks_a_late_target(monkeypatch):
    far = np.where(np.arange(12) == 4, 9.0, STANDING)
    assert late(far, monkeypatch) == (None, 0)
