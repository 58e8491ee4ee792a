"""The stop key: an order to the gate at once, whatever the process behind the terminal is doing."""

import os
import pty
import termios
import threading

import jaxtyping
import pytest

from gate.gated import is_limp
from live.scenes import Scene
from live.screens import Screen, at_terminal
from live.stacked import LIMIT, stacked, until
from log.logs import quick
from ursa.claim import Claim
from ursa.gate import mailbox
from ursa.gate.modes import Mode, Order
from ursa.live import keys, presses
from ursa.live.presses import Presses
from ursa.live.supervisor import INTERRUPTED, LOCK, Supervisor
from ursa.shared import place

STOP, ACKNOWLEDGE = Order.STOP, Order.ACKNOWLEDGE
CYCLES = 25  # of 2 ms: 50 ms
SOON = 2.0  # s after which a key that nobody reads is believed lost


@pytest.fixture
def terminal():
    """Both ends: where keys are pressed, and where they are read."""
    ours, theirs = pty.openpty()
    attributes = termios.tcgetattr(theirs)
    attributes[3] &= ~termios.ICANON  # each key by itself
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def test_keys_stop_and_acknowledge_and_nothing_else_does(terminal):
    ours, theirs = terminal
    pressed, found = keys.Keys(theirs), []
    pressed.listen(found.append)
    os.write(ours, b"s \nxaaq\n\xff\x13S")
    until(lambda: len(found) >= 5, "five keys")
    os.write(ours, b"aa")
    until(lambda: len(found) >= 6, "an acknowledgement")
    pressed.close()
    pressed.close()
    assert found == [STOP, STOP, STOP, STOP, STOP, ACKNOWLEDGE]


def orders(typed, heard=presses.heard, apart=0.1, passed=presses.passed):
    """What comes of some keys, each so many seconds after the one before, and then of nothing."""
    found, state, now = [], Presses(), 100.0
    for key in [*typed, None]:
        while (wait := state.wait(now)) is not None and (key is None or wait == 0):
            state, order = passed(state, now + wait)
            found += [] if order is None else [order]
        if key is not None:
            state, order = heard(state, key, now)
            found += [] if order is None else [order]
        now += apart
    return found


def words_do_not_let_a_robot_stand_up(heard):
    for word in ("cat", "data", "banana", "\x1b[A\x1b[A", "Abba", "aardvark"):  # an arrow, twice
        assert orders(word, heard) == []


def test_a_word_typed_at_the_wrong_terminal_lets_no_robot_stand_up():
    words_do_not_let_a_robot_stand_up(presses.heard)


def test_one_key_that_acknowledges_would_let_it():
    """Sabotage."""

    def once(state, key, now):
        return Presses(), ACKNOWLEDGE if key == "a" else None

    with pytest.raises(AssertionError):
        words_do_not_let_a_robot_stand_up(once)


def test_a_twice_within_three_seconds_acknowledges_once_and_a_stop_between_forgets_it():
    assert orders("aa", apart=3.0) == [ACKNOWLEDGE]
    assert orders("aa", apart=3.01) == []
    assert orders("aa", apart=0.0) == [ACKNOWLEDGE]
    assert orders("asa") == [STOP]
    assert orders("aA") == [ACKNOWLEDGE]
    assert orders("aas") == [STOP]  # before the half second is over


def a_held_key_acknowledges_nothing(heard):
    """As keyboards do it: again after 0.25 to 1 s, then 30 to 2.5 times a second until let go."""
    for delay in (0.25, 0.66, 1.0):
        for apart in (0.033, 0.1, 0.4):
            for count in (2, 3, 20, 200):
                typed = "a" + "-" * round(delay / apart - 1) + "a" * count
                assert orders(typed, slow(heard), apart) == []


def slow(heard):
    """Time in which no key comes, written as a dash."""

    def told(state, key, now):
        return (state, None) if key == "-" else heard(state, key, now)

    return told


def test_a_key_that_is_held_down_acknowledges_nothing_however_fast_it_repeats():
    a_held_key_acknowledges_nothing(presses.heard)


def test_twice_at_once_would_be_an_acknowledgement_by_a_held_key():
    """Sabotage."""

    def at_once(state, key, now):
        after, order = presses.heard(state, key, now)
        return (Presses(), ACKNOWLEDGE) if after.second is not None else (after, order)

    with pytest.raises(AssertionError):
        a_held_key_acknowledges_nothing(at_once)


def test_after_a_held_key_it_takes_two_more_once_it_was_let_go():
    assert orders("aaaaa" + "-" * 6 + "a", slow(presses.heard)) == []
    assert orders("aaaaa" + "-" * 6 + "aa", slow(presses.heard)) == [ACKNOWLEDGE]
    assert orders("aaaaa" + "-" * 3 + "aa", slow(presses.heard)) == []  # 0.4 s: still the same


def test_one_who_was_late_to_look_takes_a_waiting_key_for_one_that_followed():
    state = Presses(second=100.0)
    assert presses.heard(state, "a", 107.0) == (Presses(held=107.0), None)


def test_a_held_key_is_answered_once():
    state, said = Presses(), []
    for count in range(9):
        after, _ = presses.heard(state, "a", 100.0 + 0.03 * count)
        said += [it for it in [presses.answered(state, after)] if it]
        state = after
    assert said == [
        "a again within 3 s: it will stand up",
        "a key that is held down acknowledges nothing: press a twice",
    ]


def test_the_first_a_is_answered_and_a_mute_terminal_holds_up_no_stop(terminal):
    ours, theirs = terminal
    pressed, found, said, mute = keys.Keys(theirs), [], [], threading.Event()

    def say(text):
        said.append(text)
        mute.wait()

    pressed.listen(found.append, say)
    os.write(ours, b"a")
    until(lambda: said == ["a again within 3 s: it will stand up"], "an answer")
    os.write(ours, b"s")
    until(lambda: found == [STOP], "a stop")
    mute.set()
    pressed.close()


def test_who_has_no_keys_is_told_the_other_ways(tmp_path):
    said = keys.described(False, tmp_path)
    assert "there are no keys here" in said
    assert "the remote" in said
    assert f"ursa robot stop {tmp_path} --acknowledge" in said
    assert "a twice within 3 s acknowledges" in keys.described(True, tmp_path)


def test_a_terminal_that_goes_away_ends_the_listening_and_nothing_else():
    ours, theirs = pty.openpty()
    pressed = keys.Keys(theirs)
    pressed.listen(lambda order: None)
    os.close(ours)
    until(lambda: not pressed._thread.is_alive(), "nobody listens any more")
    pressed.close()
    os.close(theirs)


def test_without_a_terminal_nobody_listens():
    none = keys.Keys(None)
    none.listen(lambda order: pytest.fail("a key"))
    assert none._thread is None
    none.close()


def test_the_terminal_of_somebody_else_is_no_terminal_of_ours(terminal, monkeypatch):
    with os.fdopen(os.dup(terminal[1])) as theirs:  # a terminal, but nobody's controlling one
        monkeypatch.setattr("sys.stdin", theirs)
        with keys.of_terminal() as found:
            assert not found.present


def test_ctrl_z_and_ctrl_s_are_keys_like_others_while_a_robot_runs(terminal):
    """A process put to sleep by Ctrl-Z would hear no stop key; Ctrl-S would stop what it says."""
    keys._unsuspended(terminal[1])
    attributes = termios.tcgetattr(terminal[1])
    assert attributes[6][termios.VSUSP] == b"\0"
    assert not attributes[0] & termios.IXON
    assert attributes[6][termios.VINTR] == b"\x03"  # Ctrl-C ends in order, as ever


def while_its_keys_are_heard(terminal, monkeypatch):
    """Which keys put a process to sleep or mute its terminal, before, while and after it listens:
    those of Ctrl-Z and Ctrl-S."""

    def harmful():
        attributes = termios.tcgetattr(terminal[1])
        return attributes[6][termios.VSUSP] != b"\0", bool(attributes[0] & termios.IXON)

    monkeypatch.setattr(keys, "_ours", lambda handle: True)  # as a shell would have it
    with os.fdopen(os.dup(terminal[1])) as theirs:
        monkeypatch.setattr("sys.stdin", theirs)
        before = harmful()
        with keys.of_terminal() as found:
            assert found.present
            during = harmful()
        return before, during, harmful()


def test_they_are_so_while_the_keys_of_a_terminal_are_heard_and_no_longer(terminal, monkeypatch):
    every, none = (True, True), (False, False)
    assert while_its_keys_are_heard(terminal, monkeypatch) == (every, none, every)


def test_a_terminal_taken_as_it_is_would_put_the_stop_key_to_sleep(terminal, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(keys, "_unsuspended", lambda handle: None)
    assert while_its_keys_are_heard(terminal, monkeypatch)[1] == (True, True)


@pytest.fixture
def scene(tmp_path):
    jaxtyping.config.update("jaxtyping_disable", True)  # thousands of cycles; checked elsewhere
    found = Scene(tmp_path, desk=False)
    yield found
    found.close()
    jaxtyping.config.update("jaxtyping_disable", False)


def stopped_while_the_loop_is_blocked(scene, terminal, limit):
    """Cycles of the gate from the key to the limp command; the supervisor's loop hangs all along.

    The robot and its clock are the test's: while the key is on its way to the gate's memory, time
    stands still, so what is counted is what the gate needs.
    """
    blocked, release = threading.Event(), threading.Event()

    def hangs():
        """In the first line of the loop, for as long as we like."""
        blocked.set()
        return release.wait()

    claim = Claim(scene.folder / LOCK, scene.folder)
    scene.actor.close()  # a supervisor begins before all others
    supervisor = Supervisor(
        scene.folder, scene.live, claim, lambda said: None, keys.Keys(terminal[1])
    )
    scene.desk, scene.actor = supervisor._orders, mailbox.Wisher(scene.folder)
    codes = []
    loop = threading.Thread(target=lambda: codes.append(supervisor.run(hangs, lambda _: None)))
    try:
        loop.start()
        blocked.wait()
        scene.start()
        scene.runs()
        os.write(terminal[0], b" ")
        pressed = supervisor._pressed._slots
        until(lambda: pressed.number == 1, "the stop is in the gate's memory", limit)
        assert loop.is_alive()
        return scene.lets(lambda: is_limp(scene.robot.command), every=1)
    finally:
        if scene.gate is not None:
            scene.gate.kill()
            scene.gate.wait()
        scene.desk = None
        release.set()
        loop.join()
        assert codes == [INTERRUPTED]


def test_a_stop_key_makes_the_robot_limp_within_25_cycles_while_the_loop_is_blocked(
    scene, terminal
):
    assert stopped_while_the_loop_is_blocked(scene, terminal, LIMIT) <= CYCLES
    assert scene.told.mode is Mode.FAULT
    assert scene.told.fault == "stop by order"


def test_keys_that_the_loop_would_have_to_read_are_not_heard(scene, terminal, monkeypatch):
    """Sabotage: no thread of their own."""
    monkeypatch.setattr(keys.Keys, "listen", lambda self, order, say: None)
    with pytest.raises(AssertionError, match="the stop is in the gate's memory"):
        stopped_while_the_loop_is_blocked(scene, terminal, SOON)


def tried_on(stack, how, limit):
    """A command that only uses a robot: stopped by a key once it stands, and acknowledged."""
    process, ours = at_terminal(["-m", "live.stub_standing", str(stack.folder), how])
    screen = Screen(ours)
    try:
        until(lambda: screen.shows("STANDS FIRST"), "it stands")
        os.write(ours, b"s")
        until(lambda: screen.shows("its gate is in fault stop by order"), "it was stopped", limit)
        assert f"ursa robot stop {stack.folder / 'adapt'} --acknowledge" in screen.joined
        os.write(ours, b"a")
        until(lambda: screen.shows("a again within 3 s: it will stand up"), "an answer", limit)
        os.write(ours, b"xaa")  # anew: the answer may have taken its time
        until(lambda: screen.shows("STANDS AGAIN"), "it stands again", limit)
        until(lambda: screen.shows("LEFT"), "it ended", limit)
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        place.forget(stack.folder / "adapt")


def test_a_command_that_only_uses_a_robot_hears_the_same_keys(tmp_path):
    with stacked(quick(tmp_path), room=0.0) as stack:
        (stack.folder / "adapt").mkdir()
        tried_on(stack, "hears", LIMIT)


def test_one_that_reads_no_keys_cannot_be_stopped_there(tmp_path):
    """Sabotage."""
    with stacked(quick(tmp_path), room=0.0) as stack:
        (stack.folder / "adapt").mkdir()
        with pytest.raises(AssertionError, match="it was stopped"):
            tried_on(stack, "deaf", SOON)
