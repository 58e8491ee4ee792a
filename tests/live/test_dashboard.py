"""The line at a terminal: as wide as that is, drawn in place, and nobody's task is cut off."""

import io
import re
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import jaxtyping
import pytest

from ursa.gate.mailbox import Told
from ursa.gate.modes import Mode
from ursa.live import dashboard
from ursa.live.dashboard import Dashboard, Status, fitted, line
from ursa.live.notice import Notice
from ursa.live.settings import Live
from ursa.shared.keeper import Keeper

LONG = Status(
    rows=123_456,
    total=360_000,
    rate=19.7,
    updates=61_728,
    mode="fault",
    interventions=311,
    clamps=99_102,
    restarts=2,
    rises=14,
    note="stop by order (acknowledge: still tilted: set it upright)",
)


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    """Nobody here is a supervisor."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


class Glass(io.StringIO):
    """A terminal so many letters wide: what is written scrolls, wraps and is wiped as on one."""

    def __init__(self, width):
        super().__init__()
        self.width, self.rows, self.row, self.column = width, [""], 0, 0

    def isatty(self):
        return True

    def write(self, text):
        for piece in re.findall(r"\x1b\[\d*[A-Z]|.|\n|\r", text):
            if piece == "\x1b[J":
                self.rows = [*self.rows[: self.row], self.rows[self.row][: self.column]]
            elif piece.startswith("\x1b["):
                self.row -= int(piece[2:-1])
                assert self.row >= 0
            elif piece == "\r":
                self.column = 0
            elif piece == "\n":
                self._down()
            else:
                if self.column == self.width:
                    self._down()
                row = self.rows[self.row].ljust(self.column)
                self.rows[self.row] = row[: self.column] + piece + row[self.column + 1 :]
                self.column += 1
        return len(text)

    def _down(self):
        self.row, self.column = self.row + 1, 0
        if self.row == len(self.rows):
            self.rows.append("")


def after(width, monkeypatch, fit=fitted, statuses=(LONG,) * 50):
    """What stands on a terminal after some statuses, and an instruction among them."""
    glass, left = Glass(width), iter(statuses)
    board = Dashboard(stream=glass, clock=iter(range(1000)).__next__)
    monkeypatch.setattr(board, "_width", lambda: width)
    monkeypatch.setattr(board, "status", lambda run, now: next(left))
    monkeypatch.setattr(dashboard, "fitted", fit)
    for count in range(len(statuses)):
        board.show(None)
        if count == len(statuses) // 2:
            board.say("FAULT: stop by order\n  the robot is limp")
    return glass.rows


@pytest.mark.parametrize("width", [40, 80, 110, 200])
def test_fifty_drawings_are_one_and_what_was_said_stays_above_it(width, monkeypatch):
    rows = after(width, monkeypatch)
    assert rows[:2] == ["ursa: FAULT: stop by order", "  the robot is limp"]
    assert rows[2:] == fitted(LONG, width - 1)
    assert all(len(row) < width for row in rows)


def test_a_line_that_ignores_the_width_scrolls(monkeypatch):
    """Sabotage: one long line, begun anew where the last one ended."""
    monkeypatch.setattr(Dashboard, "_wiped", lambda self: "\r\x1b[J" if self._drawn else "")
    rows = after(80, monkeypatch, lambda status, width: [line(status)])
    assert len(rows) > 100  # two more with every drawing
    assert rows[:2] != ["ursa: FAULT: stop by order", "  the robot is limp"]


def test_a_status_that_asks_for_less_room_leaves_nothing_behind(monkeypatch):
    quiet = replace(LONG, note="", mode="run")
    rows = after(60, monkeypatch, statuses=(LONG, LONG, LONG, quiet))
    assert rows[2:] == fitted(quiet, 59)
    assert len(rows[2:]) == 1


@pytest.mark.parametrize("width", range(20, 260, 7))
def test_mode_and_note_are_there_at_any_width_and_fit(width):
    lines = fitted(LONG, width)
    assert all(len(each) <= width for each in lines)
    assert "FAULT" in lines[0]
    assert LONG.note in " ".join(lines)


def test_what_matters_least_goes_first():
    quiet = replace(LONG, note="", mode="run")
    assert fitted(quiet, 200) == [line(quiet)]
    assert fitted(quiet, len(line(quiet)) - 1) == [line(quiet).replace("  clamps 99102", "")]
    assert fitted(quiet, 30) == ["34% rows 123,456/360,000  RUN"]
    assert fitted(quiet, 20) == ["RUN"]


def noted(told, refusal="", notice=None, rows=0, rate=0.0, updates=0, clock="wall", asked=""):
    """What the line adds about a run."""
    beat = SimpleNamespace(said={})
    run = SimpleNamespace(
        diary=SimpleNamespace(refusal=refusal),
        wards={"recorder": SimpleNamespace(beat=beat)},
        notice=notice or Notice(due=False),
        progress=lambda role: updates,
        rows=rows,
        asked=asked,
        live=Live(clock=clock),
    )
    return dashboard._note(run, told, rate)


@pytest.fixture
def emulator(tmp_path):
    """One that keeps a clock."""
    with closing(Keeper(tmp_path / "clock")) as found:
        yield found


def test_the_note_says_what_is_refused_announced_or_compiled(emulator):
    virtual = f"shared:{emulator.path}"
    limp = Told(cycle=1, now=1.0, mode=Mode.DAMP, since=0.0)
    tilted = replace(limp, fault="tilted while limp")
    refusal = "acknowledge: still tilted: set it upright"
    assert noted(tilted, refusal) == f"tilted while limp ({refusal})"
    soon = Notice(due=True, since=1.0, left=4.0)
    assert noted(limp, notice=soon) == "stands up in 4 s: keep away"
    assert noted(limp, asked="carry it", notice=soon) == "carry it"
    assert noted(tilted, asked="carry it") == "tilted while limp"
    assert noted(limp) == "compiling; it begins when that is done"
    assert noted(limp, rows=60, clock=virtual) == "compiling; time stands still meanwhile"
    assert noted(limp, rows=60, rate=3.0, clock=virtual) == ""
    assert noted(limp, rows=60, updates=1, clock=virtual) == ""


def without(folder):
    """What the line adds, whatever else is the matter, when the emulator has died."""
    limp = Told(cycle=1, now=1.0, mode=Mode.DAMP, since=0.0)
    Keeper(folder / "clock").close()
    virtual = f"shared:{folder / 'clock'}"
    return {
        noted(limp, rows=60, clock=virtual),
        noted(limp, rows=60, rate=3.0, updates=9, clock=virtual),
        noted(replace(limp, fault="stop by order"), clock=virtual, asked="carry it"),
        noted(None, clock=virtual),
    }


def test_while_the_emulator_is_dead_the_note_says_so_and_nothing_else(tmp_path):
    assert without(tmp_path) == {
        "THE EMULATOR IS GONE, time stands still: start it again as before"
    }


def test_one_that_does_not_look_for_it_would_say_that_something_is_compiled(tmp_path, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(dashboard.clocks, "kept", lambda path: True)
    assert "compiling; time stands still meanwhile" in without(tmp_path)
