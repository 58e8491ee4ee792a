"""The whole stack under a supervisor, killed and hung in every part: it goes on and loses nothing.

Processes are real, time is virtual (the robot keeps it), and every wait is for something seen to
happen; the limits only end a test of a stack that stands still for good.
"""

import json
import os
import random
import signal
from contextlib import contextmanager
from dataclasses import replace

import pytest

from live import stacked as stacks
from live.stacked import AGAIN, LIMIT, STUBS, recorded, stacked, until
from log.logs import quick
from sizes import SEED, patience, size
from ursa.gate import mailbox
from ursa.gate.modes import SERVO_MODES, Mode, Order
from ursa.live import settings, stop_command

KILLS = size("URSA_STACK_KILLS")
ROLES = ("gate", "actor", "recorder", "learner", "supervisor")
WARY = replace(STUBS, gate="live.stub_gating_brisk")  # waits for two seconds, not for a minute
BRISK = {"modules": WARY, "patience": stacks.BRISK}  # where it is the hangs that matter
BESIDE = KILLS // 5, KILLS // 10  # hangs of anybody, and robots switched off, beside the kills
SOON = 8.0  # s after which a sabotaged stack is believed to stand still; four times its patience


@pytest.fixture
def folder(tmp_path):
    return quick(tmp_path)


def strike(stack, role, hang):
    """Kill or hang one process; what needs a person (a new start) is done."""
    pid = struck(stack, role, signal.SIGSTOP if hang else signal.SIGKILL)
    if role == "robot":
        if hang:
            os.kill(pid, signal.SIGCONT)  # time stood still, nobody could notice
        else:
            stack.switch_on()
    elif role == "supervisor":
        if hang:
            until(lambda: left(stack) not in SERVO_MODES, f"its gate notices\n{stack.said()}")
            os.kill(pid, signal.SIGCONT)
        else:
            stack.supervisor.wait()
            stack.start()
    else:  # looked after by the supervisor: another process takes over
        until(lambda: stack.pid(role) != pid, f"another {role} than {pid}\n{stack.said()}")


def struck(stack, role, number):
    """Its process, which has that signal now. On a busy machine one may just have been killed for
    a hang: then the next is struck."""
    while True:
        pid = until(lambda: stack.pid(role), f"{role} lives")
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            until(lambda pid=pid: stack.pid(role) != pid, f"another {role}\n{stack.said()}")
        else:
            return pid


def strikes(rng, kills, hangs, robots):
    """Whom to kill (each role as often) or hang (True), in random order."""
    plan = [(ROLES[count % len(ROLES)], False) for count in range(kills)]
    plan += [(rng.choice((*ROLES, "robot")), True) for _ in range(hangs)]
    plan += [("robot", False)] * robots
    rng.shuffle(plan)
    return plan


def ravage(stack, plan, rng):
    """So many random kills and hangs; returns what was lost or changed, and the faults told."""
    most = 0
    stack.start()
    stack.grows()
    for role, hang in plan:
        stack.passes("recorder", rng.randint(0, 6))
        most = max(most, stack.progress("recorder"))  # acknowledged before the strike
        strike(stack, role, hang)
        stack.grows()
        most = max(most, stack.progress("recorder"))
    assert stack.end() == 130, stack.said()
    found, faults = recorded(stack.folder)
    lost = [number for number in range(most) if number not in found]
    changed = [number for number, value in found.items() if number != value]
    return most, lost, changed, faults


def test_a_plan_of_thirty_kills_kills_each_of_five_roles_six_times_and_hangs_beside():
    plan = strikes(random.Random(1), 30, 6, 3)
    killed = [role for role, hang in plan if not hang]
    assert {role: killed.count(role) for role in ROLES} == dict.fromkeys(ROLES, 6)
    assert killed.count("robot") == 3
    assert len(plan) - len(killed) == 6


@pytest.mark.timeout(patience("URSA_STACK_KILLS", 1200))
def test_thirty_random_kills_and_hangs_beside_lose_no_acknowledged_row(folder):
    seed = 20260101 + SEED
    print(f"seed {seed}")
    rng = random.Random(seed)
    with stacked(folder, **BRISK) as stack:
        most, lost, changed, faults = ravage(stack, strikes(rng, KILLS, *BESIDE), rng)
        assert most > 5 * KILLS
        assert (lost, changed, faults) == ([], [], [])


@pytest.fixture(scope="module")
def shared_run(tmp_path_factory):
    """One robot and folder for the tests below; each finds the run under way, or starts it."""
    with stacked(quick(tmp_path_factory.mktemp("run"))) as stack:
        yield stack


@pytest.fixture
def run(shared_run):
    """That run, under way."""
    if shared_run.supervisor is None or shared_run.supervisor.poll() is not None:
        shared_run.start()
    shared_run.grows()
    return shared_run


@contextmanager
def otherwise(stack, **changes):
    """With other settings for those who start in this block."""
    settings.write(stack.folder, replace(stack.live, **changes))
    try:
        yield
    finally:
        settings.write(stack.folder, stack.live)


def test_two_starts_on_one_folder_one_wins(run):
    second = run.another()
    assert second.wait(LIMIT) == 2
    assert f"{run.folder} is in use by process {run.supervisor.pid}" in run.said()
    run.grows()


def stopped(stack):
    """Press stop, wait until the gate took it in; then look whether it stays stopped."""
    hand, ears = mailbox.Orderer(stack.folder, "operator"), mailbox.Listener(stack.folder)
    number = hand.order(Order.STOP)
    until(lambda: hand.done(number), "the stop was taken in")
    before = ears.newest().cycle
    until(lambda: ears.newest().cycle > before + 1000, "two seconds on the clock")
    mode = ears.newest().mode
    hand.close()
    ears.close()
    return mode


def test_a_stop_stays_until_a_person_acknowledges_then_the_robot_runs_again(run, monkeypatch):
    monkeypatch.setattr(stop_command, "WAIT", LIMIT)
    assert stopped(run) is Mode.FAULT
    os.kill(run.pid("gate"), signal.SIGKILL)  # also when the gate starts anew
    ears = mailbox.Listener(run.folder)
    before = ears.newest().cycle
    until(lambda: ears.newest().cycle > before + 500, "another gate")
    assert ears.newest().mode is Mode.FAULT
    assert ears.newest().fault == "stop by order"
    ears.close()
    assert stop_command.stop(run.folder, acknowledge=True) == 0
    run.grows()
    until(lambda: list((run.folder / "blackbox").glob("*.json")), "the black box is on disk")


def test_when_the_supervisor_hangs_the_gate_lays_the_robot_down_and_all_goes_on_when_it_wakes(run):
    with otherwise(run, modules=WARY):
        assert run.end() == 130
        run.start()
        run.grows()
        until(lambda: left(run) is Mode.RUN, "it runs")
        gate = run.pid("gate")
        os.kill(run.supervisor.pid, signal.SIGSTOP)
        until(lambda: not running(gate), "the gate ended by itself")
        assert left(run) is Mode.DAMP
        os.kill(run.supervisor.pid, signal.SIGCONT)
        until(lambda: run.pid("gate") != gate, "another gate")
        run.grows()
        assert "nobody looked after the gate for 2 s: the gate laid the robot down" in run.said()


def test_when_the_supervisor_is_killed_the_others_lay_the_robot_down_and_end(run):
    pids = [run.pid(role) for role in ("gate", "actor", "recorder", "learner")]
    run.supervisor.kill()
    run.supervisor.wait()
    until(lambda: not any(map(running, pids)), "all have ended")
    assert left(run) is Mode.DAMP


def test_a_run_ends_in_order_when_it_has_its_rows(shared_run):
    goal = shared_run.stored() + 40
    with otherwise(shared_run, rows=goal):
        shared_run.start()
        assert shared_run.supervisor.wait(LIMIT) == 0, shared_run.said()
    assert all(shared_run.alive(role) is None for role in ROLES)
    found, faults = recorded(shared_run.folder)
    assert len(found) >= goal
    assert faults == []
    lines = (shared_run.folder / "interventions.jsonl").read_text()
    assert "run -> lie down" in lines
    assert '"kind": "counts"' in lines
    moves = [it["detail"] for it in map(json.loads, lines.splitlines()) if it["kind"] == "mode"]
    assert moves[-1] == "lie down -> damp"


@pytest.mark.parametrize("sabotage", ["", "no_revival"])
def test_rows_that_wait_for_a_dead_recorder_are_on_disk_at_the_end(shared_run, sabotage):
    rare = replace(AGAIN, first=60.0, most=60.0)  # it stays dead until the end
    with otherwise(shared_run, restarts=rare):
        shared_run.start(sabotage)
        shared_run.grows()
        os.kill(shared_run.pid("recorder"), signal.SIGKILL)
        shared_run.passes("actor", 20)
        handed = shared_run.progress("actor")
        assert shared_run.end() == 130
        assert (shared_run.stored() >= handed) is (sabotage == "")


def stands_still(stack):
    """Rows that the actor had handed over may still reach the disk; no others come."""
    handed = stack.progress("actor")
    with pytest.raises(AssertionError, match="other rows than those"):
        until(lambda: stack.progress("recorder") >= handed + 5, "other rows than those", SOON)


def test_a_supervisor_without_its_protections_fails_the_same_checks(shared_run):
    """No lock on the folder, no latch on a stop, no restart of a process that was killed."""
    shared_run.start("no_lock+no_latch+no_restart")
    shared_run.grows()
    second = shared_run.another("no_lock")
    until(lambda: "gate ended with exit code 2" in shared_run.said(), "a second with its own gate")
    second.kill()
    second.wait()
    assert stopped(shared_run) is not Mode.FAULT
    os.kill(shared_run.pid("actor"), signal.SIGKILL)
    stands_still(shared_run)
    shared_run.fell()


def test_a_supervisor_that_does_not_watch_leaves_a_hung_process_alone(shared_run):
    with otherwise(shared_run, **BRISK):
        shared_run.start("no_watch")
        shared_run.grows()
        os.kill(shared_run.pid("actor"), signal.SIGSTOP)
        stands_still(shared_run)
        shared_run.fell()


def test_a_recorder_that_acknowledges_before_it_commits_is_caught(shared_run):
    modules = replace(STUBS, recorder="live.stub_recording_early")
    folder = shared_run.folder
    with otherwise(shared_run, modules=modules):
        shared_run.start()
        until((folder / "early").exists, f"it died between word and deed\n{shared_run.said()}")
        shared_run.grows()
        assert shared_run.end() == 130
    found, faults = recorded(folder)
    lost = [number for number in range(max(found)) if number not in found]
    assert lost or faults  # what the check of the thirty kills looks for


def left(stack):
    """The mode that the last gate left the robot in."""
    ears = mailbox.Listener(stack.folder)
    try:
        return ears.newest().mode
    finally:
        ears.close()


def running(pid):
    """Whether a process is there and no mere entry in a table."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
