"""A command that only uses a robot: it asks before it stands, stops by the name of its run, and
leaves behind what its gate did. Processes, on a clock of their own, at a terminal."""

import json
import os
from contextlib import closing, contextmanager

import pytest

from live.screens import Screen, at_terminal
from live.stacked import LIMIT, stacked, until
from log.logs import quick
from ursa.gate import mailbox
from ursa.gate.modes import Mode
from ursa.live import stop_command
from ursa.shared import place

NAME = "adapt/robot-undamaged"
ASKED = "to have it stand: press `a` twice here"
SOON = 1500  # cycles of the gate, 3 s: a robot that may stand up has begun long before


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A gate takes an order in when the processor has time for it."""
    monkeypatch.setattr(stop_command, "WAIT", LIMIT)


class Use:
    """The command at work, and a person at its terminal."""

    def __init__(self, folder, how):
        self.run, self.folder = folder, folder / NAME
        self.process, self._keys = at_terminal(["-m", "live.stub_standing", str(folder), how, NAME])
        self._screen = Screen(self._keys)

    def shows(self, words, what, limit=LIMIT):
        until(lambda: self._screen.shows(words), what, limit)

    def presses(self, keys):
        os.write(self._keys, keys)

    @property
    def told(self):
        with closing(mailbox.Listener(self.folder)) as ears:
            return ears.newest()

    def stays_limp(self):
        """For so many cycles, whatever the processor is busy with."""
        begun = self.told.cycle
        until(
            lambda: self.told.cycle - begun >= SOON or self.told.target is not None, "time passes"
        )
        return self.told.mode is Mode.DAMP

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._keys)
        place.forget(self.folder)


@contextmanager
def using(tmp_path, how, **changes):
    with stacked(quick(tmp_path), room=0.0, **changes) as stack:
        (stack.folder / NAME).mkdir(parents=True)
        with closing(Use(stack.folder, how)) as use:
            yield use


def test_on_a_robot_it_asks_a_person_before_it_stands_up_the_first_time(tmp_path):
    with using(tmp_path, "hears", acknowledge="operator") as use:
        use.shows(ASKED, "a question")
        assert use.stays_limp()
        use.presses(b"aa")
        use.shows("the robot stands up now; keep clear", "a warning")
        use.shows("STANDS FIRST", "it stands")


def test_one_that_begins_like_a_new_run_would_stand_up_unasked(tmp_path):
    """Sabotage."""
    with using(tmp_path, "unasked", acknowledge="operator") as use:
        use.shows("STANDS FIRST", "it stands")


def stopped(use):
    """Stop it by the name of its run, let it go on and come to its end; what it left behind."""
    use.shows("STANDS FIRST", "it stands")
    assert stop_command.stop(use.run) == 0
    use.shows("its gate is in fault stop by order", "it was stopped")
    assert use.told.mode is Mode.FAULT
    assert stop_command.stop(use.run, acknowledge=True) == 0
    use.shows("LEFT", "it ended")
    assert use.process.wait() == 0
    boxes = [json.loads(path.read_text())["why"] for path in (use.folder).glob("blackbox/*.json")]
    diary = use.folder / "interventions.jsonl"
    lines = diary.read_text().splitlines() if diary.exists() else []
    return boxes, [json.loads(line) for line in lines]


def test_a_stop_by_the_name_of_the_run_stops_it_and_is_written_down(tmp_path):
    with using(tmp_path, "hears") as use:
        boxes, diary = stopped(use)
    assert boxes == ["stop by order"]
    kinds = [line["kind"] for line in diary]
    assert kinds.count("stop") == 1
    assert "acknowledged" in kinds
    moves = [line["detail"].split(" by")[0] for line in diary if line["kind"] == "mode"]
    assert "run -> fault stop" in moves
    assert moves[-1] == "lie down -> damp"  # until the very end
    assert diary[-2]["counts"]["stop"] == 1


def test_without_a_scribe_nothing_would_be_left_of_it(tmp_path):
    """Sabotage."""
    with using(tmp_path, "silent") as use:
        assert stopped(use) == ([], [])


def test_an_adaptation_hidden_from_the_stop_would_go_on(tmp_path, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(stop_command, "BELOW", ())
    monkeypatch.setattr(stop_command, "WAIT", 0.1)
    with using(tmp_path, "hears") as use:
        use.shows("STANDS FIRST", "it stands")
        mailbox.create(use.run)
        with pytest.raises(stop_command.UserError, match="nobody runs this robot now"):
            stop_command.stop(use.run)
        assert use.told.mode is Mode.RUN
