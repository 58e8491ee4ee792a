"""A terminal that stalls, a pipe that is closed, a disk that hangs: none of them holds a robot."""

import io
import os
from contextlib import suppress
from threading import Event, Thread
from types import SimpleNamespace

import pytest

from gate.gated import is_limp
from live.silent import DEAD, Robot
from live.stacked import LIMIT, live_of
from ursa.claim import Claim
from ursa.gate import farewell
from ursa.gate.link import FAREWELLS
from ursa.gate.mailbox import Told
from ursa.gate.modes import Mode
from ursa.live import dashboard, diary, gating, keys, settings
from ursa.live.dashboard import Dashboard, Status
from ursa.live.outlet import MOST, Outlet, write_all
from ursa.live.settings import Restarts
from ursa.live.supervisor import GAVE_UP, LOCK, Supervisor

SOON = 0.5  # s after which one that was sabotaged is believed to wait for somebody
STATUS = Status(
    rows=1, total=2, rate=1.0, updates=0, mode="run", interventions=0, clamps=0, restarts=0
)


class Direct:
    """Sabotage: whoever puts something writes it."""

    _thread = SimpleNamespace(join=lambda patience: None, is_alive=lambda: False)  # it has none

    def __init__(self, sink, name):
        self.put, self.lost = (lambda thing, passing=False: sink(thing)), 0

    def close(self, patience):
        return True


class Pipe:
    """A stream to a pipe, full from the start if nobody reads."""

    def __init__(self, full):
        self.ours, theirs = os.pipe()
        os.set_blocking(theirs, False)
        with suppress(BlockingIOError):
            while full:
                os.write(theirs, b"x" * 4096)
        os.set_blocking(theirs, True)
        self.stream = os.fdopen(theirs, "w")
        self.boards, self._hung_up = [], False  # those that write into it

    def read(self):
        """All that was written, until the other end is closed."""
        with os.fdopen(self.ours, "rb") as file:
            return file.read().decode()

    def hang_up(self):
        """Once: the next file that is opened may have the same number."""
        if not self._hung_up:
            self._hung_up = True
            os.close(self.ours)

    def close(self):
        """The end of those who write, when none does any more: they know it by its number, too."""
        for board in self.boards:
            board.close()
            board._outlet._thread.join(LIMIT)
            assert not board._outlet._thread.is_alive()
        with suppress(OSError):
            self.stream.close()


@pytest.fixture
def mute(monkeypatch):
    """Nobody reads."""
    monkeypatch.setattr(dashboard, "READING", 0.1)
    found = Pipe(full=True)
    yield found
    found.hang_up()
    found.close()


@pytest.fixture
def patient(monkeypatch):
    """Somebody reads, whenever the processor has time for it."""
    monkeypatch.setattr(dashboard, "READING", LIMIT)


def patiently(act):
    """The same; that nobody reads any more, as at the end of a test, is no news."""

    def acted():
        with suppress(OSError):
            act()

    return acted


def waiting(act, patience=SOON):
    """A thread that does something, which takes no time if it waits for nobody."""
    thread = Thread(target=patiently(act), daemon=True)
    thread.start()
    thread.join(patience)
    return thread


def shown_and_said(board):
    """A thousand lines of each; then it is closed."""
    board.status = lambda supervisor, now: STATUS

    def act():
        for number in range(1000):
            board.show(SimpleNamespace())
            board.say(f"message {number}")
        board.close()

    return act


def board_on(pipe):
    board = Dashboard(stream=pipe.stream, clock=iter(range(0, 10**6, 10)).__next__)
    pipe.boards.append(board)
    return board


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    """A run of which only the line is needed."""
    import jaxtyping

    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def test_a_terminal_that_nobody_reads_holds_nobody_up_and_what_is_left_out_is_counted(mute):
    board = board_on(mute)
    shown_and_said(board)()
    assert board._outlet.passed_over >= 1000 - 1  # one may be in the thread's hands
    assert 1000 - MOST - 1 <= board._outlet.lost <= 1000 - MOST


def test_a_board_that_writes_by_itself_would_wait_for_a_reader(mute, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(dashboard, "Outlet", Direct)
    thread = waiting(shown_and_said(board_on(mute)))
    assert thread.is_alive()
    mute.hang_up()
    thread.join(LIMIT)


def test_a_reader_who_comes_back_is_told_how_much_is_missing(patient):
    pipe = Pipe(full=True)
    board = board_on(pipe)
    for number in range(MOST + 11):
        board.say(f"message {number}")
    lost = board._outlet.lost
    assert lost in (10, 11)
    found = []
    reader = Thread(target=lambda: found.append(pipe.read()))
    reader.start()
    pipe.close()
    reader.join(LIMIT)
    lines = found[0].lstrip("x").splitlines()
    gaps = [it for it in lines if it.endswith(" messages are missing here, nobody read them")]
    # In one line, or in two: the thread may have begun its first one when some were lost already.
    assert sum(int(it.split()[1]) for it in gaps) == lost
    assert lines[-1] == f"ursa: message {MOST + 10}"
    assert len(lines) == MOST + 11 - lost + len(gaps)


def test_at_the_end_the_last_words_are_there_for_whoever_reads_however_slowly(patient):
    pipe, words = Pipe(full=False), "word " * 1000  # some sixty times this fill a pipe
    board = board_on(pipe)
    found = []
    reader = Thread(target=lambda: found.append(pipe.read()))
    for number in range(200):
        board.say(f"{words}{number}")
    reader.start()
    pipe.close()
    reader.join(LIMIT)
    assert found[0].splitlines() == [f"ursa: {words}{number}" for number in range(200)]


def test_a_pipe_that_is_closed_is_nobodys_trouble(mute):
    board = board_on(mute)
    mute.hang_up()
    shown_and_said(board)()  # `| tee` has died
    assert board._outlet.lost > 0


def test_nor_is_a_stream_that_was_closed_under_us():
    stream = io.StringIO()
    board = Dashboard(stream=stream)
    stream.close()
    board.say("hello")


def put_back(monkeypatch, patience):
    """Whether a terminal is left as it was, though somebody waits for a reader of his words."""
    theirs, ours = os.openpty()
    monkeypatch.setattr(keys.sys, "stdin", os.fdopen(ours, "r", closefd=False))
    monkeypatch.setattr(keys.os, "tcgetpgrp", lambda handle: os.getpgrp())
    words = Outlet(lambda data: write_all(ours, data), "test")

    def act():
        with keys.of_terminal() as pressed:
            assert pressed.present
            words.put(b"x" * 2**20)
            assert not words.settle(SOON / 5)

    thread = waiting(act, patience)
    found = not thread.is_alive()
    reader = Thread(target=patiently(lambda: [os.read(theirs, 2**16) for _ in iter(int, 1)]))
    reader.start()  # now, so that all come to their end
    assert words.close(LIMIT)
    thread.join(LIMIT)
    os.close(ours)
    reader.join(LIMIT)
    os.close(theirs)
    return found


def test_a_terminal_that_nobody_reads_is_put_back_at_once(monkeypatch):
    assert put_back(monkeypatch, LIMIT)


def test_one_who_waits_until_all_was_read_would_never_leave(monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(keys, "AT_ONCE", keys.termios.TCSADRAIN)
    assert not put_back(monkeypatch, SOON)


# ---- with a robot -----------------------------------------------------------------------------


@pytest.fixture
def robot():
    found = Robot()
    yield found
    found.close()


def given_up(folder, robot, board, show):
    """A run whose gate dies again and again, told at a terminal."""
    link = "udp://{}:{}".format(*robot.address)
    rule = Restarts(first=0.0, most=0.0, allowed=2)
    live = live_of(folder, link=link, modules=DEAD, restarts=rule, clock="wall")
    settings.write(folder, live)
    supervisor = Supervisor(folder, live, Claim(folder / LOCK, folder), board.say)
    return lambda: supervisor.run(lambda: False, show)


def test_a_robot_without_a_gate_is_limp_also_if_nobody_reads_that(folder, robot, mute):
    board = board_on(mute)
    assert given_up(folder, robot, board, board.show)() == GAVE_UP
    heard = robot.heard()
    assert len(heard) >= farewell.CYCLES + FAREWELLS
    assert is_limp(heard[-1])


def test_a_supervisor_that_waits_for_its_terminal_would_leave_it_standing(
    folder, robot, mute, monkeypatch
):
    """Sabotage."""
    monkeypatch.setattr(dashboard, "Outlet", Direct)
    run = given_up(folder, robot, board_on(mute), lambda _: None)
    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(5.0)
    assert thread.is_alive()
    assert robot.heard() == []
    mute.hang_up()  # now it hears that nobody reads, and goes on
    thread.join(LIMIT)
    assert is_limp(robot.heard()[-1])


# ---- a disk that hangs ------------------------------------------------------------------------


def written(folder, monkeypatch):
    """A diary whose disk takes nothing until it is let go: what writes into it, and how."""
    monkeypatch.setattr(diary, "PATIENCE", 0.1)
    hangs, append = Event(), diary.Diary._append

    def slow(self, lines):
        hangs.wait(LIMIT)
        append(self, lines)

    monkeypatch.setattr(diary.Diary, "_append", slow)
    gating.create(folder, live_of(folder))
    book = diary.Diary(folder)

    def act():
        for cycle in range(3):
            told = Told(cycle=cycle, now=1.0, mode=Mode.RUN, since=0.0)
            book.write(told, last=True)

    return book, act, hangs


def test_a_disk_that_hangs_delays_what_is_written_down_and_nothing_else(
    folder, monkeypatch, caplog
):
    book, act, hangs = written(folder, monkeypatch)
    act()
    assert not (folder / diary.NAME).exists()
    book.close()
    assert "the disk hangs; the last of what the gate did may be lost" in caplog.text
    hangs.set()
    assert book._outlet.settle(LIMIT)
    assert len((folder / diary.NAME).read_text().splitlines()) == 6


def test_a_diary_that_writes_by_itself_would_wait_for_it(folder, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(diary, "Outlet", Direct)
    book, act, hangs = written(folder, monkeypatch)
    thread = waiting(act)
    assert thread.is_alive()
    hangs.set()
    thread.join(LIMIT)
    book.close()
