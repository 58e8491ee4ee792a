"""`ursa robot stop`: it reaches whoever drives the robot, with a folder or without one.

The memory of the computer is a folder of the test's own: no robot outside of it hears anything.
"""

from contextlib import ExitStack, closing
from threading import Event, Thread

import pytest

from live.stacked import LIMIT
from ursa.errors import UserError
from ursa.gate import drivers, link, mailbox
from ursa.gate.modes import Mode, Order
from ursa.live import orphans, settings, stop_command
from ursa.live.settings import Live
from ursa.shared import pulse


class Gate(Thread):
    """Drives a robot from a folder: lives, holds it, and takes orders in."""

    def __init__(self, folder, port, signed=True):
        super().__init__(daemon=True)
        folder.mkdir(parents=True, exist_ok=True)
        settings.write(folder, Live())
        mailbox.create(folder)
        pulse.create(folder, "gate")
        self.folder, self.heard, self._over, self._stack = folder, [], Event(), ExitStack()
        held = link.claimed(("127.0.0.1", port), folder if signed else None)
        self._teller = mailbox.Teller(folder)
        self._orders, beats = mailbox.Orders(folder), pulse.Pulse(folder, "gate")
        for each in (held, self._teller, self._orders, beats):
            self._stack.enter_context(closing(each))
        self.start()

    def run(self):
        while not self._over.wait(0.001):
            for order in self._orders.waiting():
                self.heard.append(order)
                stopped = order is Order.STOP
                told = mailbox.Told(
                    cycle=len(self.heard),
                    now=1.0,
                    mode=Mode.FAULT if stopped else Mode.DAMP,
                    since=1.0,
                    fault="stop by order" if stopped else "",
                )
                self._teller.tell(told)
                self._orders.obeyed()

    def close(self):
        self._over.set()
        self.join()
        self._stack.close()


@pytest.fixture
def memory(memory, tmp_path, monkeypatch):
    monkeypatch.setattr(orphans, "PROCESSES", tmp_path / "processes")  # of others: none
    monkeypatch.setattr(stop_command, "WAIT", LIMIT)
    return memory


@pytest.fixture
def driving(memory):
    """Makes gates, and ends them."""
    with ExitStack() as stack:
        yield lambda *words, **more: stack.enter_context(closing(Gate(*words, **more)))


def trained(folder):
    """A run that was on a robot, and is over."""
    folder.mkdir()
    settings.write(folder, Live())
    mailbox.create(folder)
    return folder


@pytest.mark.parametrize("where", ["adapt/robot-undamaged", "agent/adapt/robot-FL.upper"])
def test_a_stop_of_a_run_reaches_who_adapts_from_its_folder(tmp_path, driving, where, capsys):
    run = trained(tmp_path / "run")
    gate = driving(run / where, 1)
    assert stop_command.stop(run) == 0
    assert gate.heard == [Order.STOP]
    said = capsys.readouterr().out
    assert said.startswith("stopped: the robot is limp (stop by order)")
    assert f"ursa robot stop {run / where} --acknowledge" in said
    assert stop_command.stop(run, acknowledge=True) == 0
    assert gate.heard == [Order.STOP, Order.ACKNOWLEDGE]


def test_one_that_looks_into_the_runs_folder_only_would_leave_the_robot_moving(
    tmp_path, driving, monkeypatch
):
    """Sabotage."""
    monkeypatch.setattr(stop_command, "BELOW", ())
    monkeypatch.setattr(stop_command, "WAIT", 0.1)
    run = trained(tmp_path / "run")
    gate = driving(run / "adapt" / "robot-undamaged", 1)
    with pytest.raises(UserError, match="nobody runs this robot now") as caught:
        stop_command.stop(run)
    assert gate.heard == []
    assert f"Driven now: 127.0.0.1:1 from {gate.folder}" in str(caught.value)


def test_a_run_in_simulation_whose_agent_drives_a_robot_is_stopped_too(tmp_path, driving):
    run = tmp_path / "simulated"  # it has no live.json
    gate = driving(run / "adapt" / "robot-undamaged", 1)
    assert stop_command.stop(run) == 0
    assert gate.heard == [Order.STOP]


def test_all_that_live_are_stopped_and_an_adaptation_that_is_over_is_left_alone(tmp_path, driving):
    run = tmp_path / "run"
    gates = [driving(run, 1), driving(run / "adapt" / "robot-x", 2)]
    over = run / "adapt" / "robot-y"
    trained(over)
    assert stop_command.stop(run) == 0
    assert [gate.heard for gate in gates] == [[Order.STOP]] * 2
    with closing(mailbox.Orders(over)) as orders:
        assert orders.waiting() == ()


def test_without_a_folder_every_robot_of_this_computer_is_stopped_and_named(
    tmp_path, driving, capsys
):
    gates = [driving(tmp_path / name, port) for port, name in enumerate(("one", "two"), 1)]
    assert stop_command.stop() == 0
    assert [gate.heard for gate in gates] == [[Order.STOP]] * 2
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2
    assert all(str(gate.folder) in line for gate, line in zip(gates, said, strict=True))


def test_a_robot_whose_folder_nobody_knows_is_named_and_the_others_are_stopped(tmp_path, driving):
    """As one that an older version of this program drives."""
    known, unknown = driving(tmp_path / "one", 1), driving(tmp_path / "two", 2, signed=False)
    with pytest.raises(UserError, match=r"127\.0\.0\.1:2 is in use by process \d+ .*own stop"):
        stop_command.stop()
    assert (known.heard, unknown.heard) == ([Order.STOP], [])


def test_a_lock_without_a_signature_would_leave_a_robot_moving(tmp_path, driving, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(drivers, "sign", lambda path, folder: None)
    gate = driving(tmp_path / "one", 1)
    with pytest.raises(UserError, match="folder is not known"):
        stop_command.stop()
    assert gate.heard == []


def test_where_nothing_is_driven_that_is_said(tmp_path, driving, memory):
    gate = driving(tmp_path / "one", 1)
    gate.close()
    assert list(memory.glob("ursa-robot-*.lock"))  # its file stays, nobody holds it
    with pytest.raises(UserError, match="no robot is driven from this computer now"):
        stop_command.stop()


def test_who_acknowledges_or_ends_names_the_robot(memory):
    for more in ({"acknowledge": True}, {"end": True}):
        with pytest.raises(UserError, match="which robot"):
            stop_command.stop(**more)


def test_an_adaptation_is_ended_at_its_terminal(tmp_path, driving):
    run = trained(tmp_path / "run")
    driving(run / "adapt" / "robot-undamaged", 1)
    with pytest.raises(UserError, match="press Ctrl-C in its terminal"):
        stop_command.stop(run, end=True)


def test_who_is_refused_a_robot_hears_from_which_folder_it_is_driven(tmp_path, driving):
    driving(tmp_path / "one", 1)
    with pytest.raises(UserError, match=rf"in use by process \d+ .*, from {tmp_path / 'one'}"):
        link.claimed(("127.0.0.1", 1))


def test_whoever_takes_a_robot_next_is_not_taken_for_the_last(tmp_path, memory):
    for name in ("a-long-name-of-a-folder", "b"):
        with closing(link.reserved(("127.0.0.1", 1), tmp_path / name)):
            (found,) = drivers.running()
            assert (found.robot, found.folder) == ("127.0.0.1:1", tmp_path / name)
    assert drivers.running() == ()
