"""A robot that did not get home stands still until a person came, whatever it does by itself."""

from dataclasses import replace

import pytest

from live.puppets import Puppet
from live.walks import Scripted, actor_on, told
from ursa.gate.modes import SERVO_MODES, Mode
from ursa.live import arena as floor
from ursa.live.actor import Actor
from ursa.live.homeward import Script
from ursa.robot.a1 import A1

# As the gate goes through them when motors are hot or the policy was silent, and back up.
RESTED = (Mode.HOLD, Mode.LIE_DOWN, Mode.DAMP, Mode.DAMP, Mode.DAMP, Mode.STAND)
DISC = floor.Arena(radius=2.0, margin=0.5)


class Waiting(Puppet):
    """A gate that may have a reason to wait for a person."""

    fault = ""

    def newest(self):
        return replace(super().newest(), fault=self.fault)

    def since(self, cycle):
        return [replace(told, fault=self.fault) for told in super().since(cycle)]


class Walk:
    """An actor that has walked home for half a second, ten steps, and is not there."""

    def __init__(self, tmp_path, steps=18):
        self.puppet, self.pilot = Waiting(told(False)), Scripted()
        self.puppet.at(0.0, 0.0)
        self.actor = actor_on(
            self.puppet, tmp_path, self.pilot, disc=DISC, home=Script(A1, DISC), longest=0.5
        )
        self.turns(2)
        self.puppet.at(1.6, 0.0)
        self.turns(steps - 2)

    def turns(self, count):
        for _ in range(count):
            self.actor.turn()

    def lives_through(self, modes, fault=""):
        """The gate's modes, a control step each, then it runs; `fault`: what it has while limp."""
        for mode in modes:
            self.puppet.mode = mode
            self.puppet.fault = "" if mode in SERVO_MODES else fault
            self.actor.turn()
        self.puppet.mode, self.puppet.fault = Mode.RUN, ""

    @property
    def home(self):
        """Steps toward it so far."""
        return len(self.pilot.done)


def pushed_after_a_rest(tmp_path):
    """Steps home that a stuck robot makes after it rested three times, in the same place."""
    walk = Walk(tmp_path)
    assert walk.home == 11  # the first beyond half a second is the last
    for _ in range(3):
        walk.lives_through(RESTED)
        walk.turns(6)
    return walk.home - 11, walk.actor.asks, walk.actor.counts["stuck"]


def test_after_a_rest_of_its_own_it_does_not_push_again_and_asks_for_a_hand(tmp_path):
    pushed, asks, stuck = pushed_after_a_rest(tmp_path)
    assert pushed == 0
    assert asks.startswith("0.5 s on its way home and not there: stop it, carry it")
    assert stuck == 1  # it is one and the same


def test_one_that_takes_every_rest_for_a_person_would_push_again(tmp_path, monkeypatch):
    """Sabotage."""

    def rest(self):
        if self.engine.told.mode not in SERVO_MODES:
            self.homing = replace(self.homing, lasted=0)

    monkeypatch.setattr(Actor, "_rest", rest)
    pushed, asks, _ = pushed_after_a_rest(tmp_path)
    assert pushed > 0
    assert asks == ""


@pytest.mark.parametrize("limp", [(Mode.FAULT,), (Mode.FAULT, Mode.DAMP), (Mode.DAMP,)])
def test_when_a_person_acknowledged_its_way_home_begins_anew(tmp_path, limp):
    """From where it is: eleven more steps, and it asks again."""
    walk = Walk(tmp_path)
    walk.lives_through((*limp, Mode.STAND), fault="stop by order")
    walk.turns(20)
    assert walk.home == 22
    assert walk.actor.asks
    assert walk.actor.counts["stuck"] == 2


def test_a_way_home_with_rests_between_is_one_way(tmp_path):
    """Five steps of ten, a rest, then six: not ten more."""
    walk = Walk(tmp_path, steps=8)
    begun = walk.home
    assert 0 < begun < 10
    walk.lives_through(RESTED)
    walk.turns(20)
    assert walk.home == 11
    assert walk.actor.asks
