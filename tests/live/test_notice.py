"""A robot that nobody told to stand up just now is announced five seconds before it does."""

import pytest

from live.stacked import live_of
from log.logs import quick
from ursa.claim import Claim
from ursa.gate.heard import Wish
from ursa.gate.mailbox import Told
from ursa.gate.modes import Mode, Order
from ursa.live import gating, notice, settings
from ursa.live.notice import Notice, held
from ursa.live.supervisor import LOCK, Supervisor
from ursa.robot.a1 import A1
from ursa.shared import place

STEP = 0.25  # s of virtual time between two looks
STANDING = A1.of_joints("stance")


def limp(now, fault=""):
    return Told(cycle=1, now=now, mode=Mode.DAMP, since=0.0, fault=fault)


def stood(first, wanted, fault=lambda now: "", start=100.0, looks=200):
    """Seconds from the start to the first STAND, and from each announcement; None: never."""
    state, announced = first, []
    for count in range(looks):
        now = start + count * STEP
        before = state.since
        state, order = held(state, wanted(now - start), limp(now, fault(now - start)))
        if state.left and state.since != before:
            announced.append(now - start)
        if order is Order.STAND:
            return now - start, announced
    return None, announced


def always(now):
    return Order.STAND


def test_it_stands_five_seconds_after_it_was_announced():
    assert stood(Notice(due=True), always) == (5.0, [0.0])
    late = stood(Notice(due=True), lambda now: Order.STAND if now >= 8.0 else None)
    assert late == (13.0, [8.0])


def test_without_a_notice_it_would_stand_at_once():
    """Sabotage."""
    assert stood(Notice(due=False), always) == (0.0, [])


def test_a_policy_that_falters_for_a_moment_does_not_begin_the_count_anew():
    found = stood(Notice(due=True), lambda now: None if 2.0 <= now < 4.0 else Order.STAND)
    assert found == (5.0, [0.0])


def test_an_announcement_that_nothing_followed_is_made_again():
    found = stood(Notice(due=True), lambda now: None if 2.0 <= now < 20.0 else Order.STAND)
    assert found == (25.0, [0.0, 20.0])


def test_who_acknowledged_a_fault_has_looked():
    found = stood(
        Notice(due=True),
        lambda now: None if 1.0 <= now < 30.0 else Order.STAND,
        lambda now: "stop by order" if 1.0 <= now < 30.0 else "",
    )
    assert found == (30.0, [0.0])


def test_who_acknowledged_while_it_was_still_compiling_is_told_when_it_is_done():
    found = stood(
        Notice(due=True),
        lambda now: Order.STAND if now >= 40.0 else None,
        lambda now: "the run was resumed" if now < 3.0 else "",
    )
    assert found == (45.0, [40.0])


def test_the_words_count_down():
    said = [notice.words(Notice(due=True, since=1.0, left=it)) for it in (5.0, 4.8, 4.0, 0.1, 0.0)]
    assert [it.partition(" in ")[2].partition(" s")[0] for it in said] == ["5", "5", "4", "1", ""]


@pytest.fixture
def folder(tmp_path):
    found = quick(tmp_path)
    yield found
    place.forget(found)


class Given:
    """A supervisor whose gate says what we like and whose policy always speaks."""

    def __init__(self, folder, **changes):
        live = live_of(folder, clock="wall", **{"acknowledge": "operator", **changes})
        settings.write(folder, live)
        self.said, self.orders, self.now = [], [], 100.0
        claim = Claim(folder / LOCK, folder)
        self.run = Supervisor(folder, live, claim, self.said.append)
        self.run._ears.newest = lambda: limp(self.now)
        self.run._wishes.newest = lambda: Wish(angle=STANDING, sequence=1, time=self.now)
        self.run._orders.order = lambda order: self.orders.append((self.now, order)) or 1

    def passes(self, seconds):
        for _ in range(round(seconds / STEP)):
            self.run._converse(rest=False)
            self.now += STEP


def announced(folder, **changes):
    given = Given(folder, **changes)
    given.passes(5.5)
    given.run.close()
    return given.said, given.orders[:1]


def test_a_new_run_on_a_robot_says_so_and_waits(folder):
    assert announced(folder) == (["stands up in 5 s: keep away"], [(105.0, Order.STAND)])


def test_an_emulator_that_nobody_is_near_stands_at_once(folder):
    assert announced(folder, acknowledge="emulator") == ([], [(100.0, Order.STAND)])


def unheeded(folder, monkeypatch, details, **changes):
    """What is said of some refused orders."""
    given, left = Given(folder, **changes), [[it] for it in details]
    lines = [
        [{"cycle": 1, "now": 1.0, "kind": "order refused", "level": 0, "detail": it[0]}]
        for it in left
    ]
    monkeypatch.setattr(gating.Events, "new", lambda self: lines.pop(0) if lines else [])
    given.passes(STEP * (len(left) + 2))
    given.run.close()
    return [it for it in given.said if "acknowledged" in it]


TILTED = "acknowledge: still tilted: set it upright"


def test_a_refused_acknowledgement_is_told_every_time_with_its_reason(folder, monkeypatch):
    found = unheeded(folder, monkeypatch, [TILTED, "stand: motors rest for 40 s more", TILTED])
    assert found == ["not acknowledged: still tilted: set it upright"] * 2


def test_one_that_the_program_gave_is_told_once(folder, monkeypatch):
    found = unheeded(folder, monkeypatch, [TILTED] * 3, acknowledge="emulator")
    assert found == ["not acknowledged: still tilted: set it upright"]
