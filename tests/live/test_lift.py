"""Who was left on its back by a skill gets up by script before the next one, and nobody's hand."""

import json
import math
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import jaxtyping
import numpy as np
import pytest

from live.small import PERIOD, Doll, Small
from ursa.emulator.physics import PERIOD as TICK
from ursa.emulator.rig import Rig
from ursa.env.arena import Arena
from ursa.errors import UserError
from ursa.gate import mailbox
from ursa.gate.modes import Mode, Order
from ursa.live import gating, stander
from ursa.live.diary import Diary
from ursa.live.homeward import upright
from ursa.live.lift import Lift
from ursa.live.riser import Riser
from ursa.live.settings import Live
from ursa.live.stander import Stander
from ursa.repair import play as playing
from ursa.robot import gait
from ursa.robot.a1 import A1
from ursa.robot.legged import LeggedBody
from ursa.shared import place, pulse
from ursa.task import registry as tasks

LIVE = Live(acknowledge="emulator")
STANCE = A1.of_joints("stance")
ROLLED = 40  # cycles of 10 ms with a joint far from the stance, then a doll rolls over
ROLL = 0.05  # rad in a cycle


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


class Roller(Doll):
    """A doll that falls onto its back, and rolls over when its legs have swung for a while."""

    roll = wanted = 0.0  # rad
    swung = 0

    def fall(self):
        self.swung, self.wanted = 0, math.pi

    def obey(self, command):
        self.roll += float(np.clip(self.wanted - self.roll, -ROLL, ROLL))
        turned = np.array([math.cos(self.roll / 2), math.sin(self.roll / 2), 0.0, 0.0])
        self.state = replace(super().obey(command), quaternion=turned)
        lies = self.wanted and self.roll == self.wanted
        self.swung += bool(lies and np.abs(self.state.angle - STANCE).max() > 0.5)
        if self.swung == ROLLED:
            self.wanted = 0.0
        return self.state


class Metal:
    """A robot of physics, and a hand that turns it over when it is asked to."""

    def __init__(self):
        self.rig, self.hand = Rig(engine="mujoco", seed=3), False

    def fall(self):
        self.hand = True

    def obey(self, command):
        for _ in range(round(PERIOD / TICK)):
            self.hand = self.hand and not self.rig.turn(-1.0)
            self.rig.tick(command)
        return self.rig.say()


class Scene:
    """A robot behind its gate that stands, and what happens to it."""

    def __init__(self, folder, doll, wait=8.0, watch=lambda: None):
        self.small, self.said, self.rises = Small(folder, doll), [], []
        self.lift = Lift(A1, wait)
        self.lift.begun = lambda number: self.rises.append((number, self.small.now()))
        self.ends = []
        self.lift.ended = lambda *what: self.ends.append(what)
        engine = self.engine = self.small.engine()
        self.set_down = Stander(
            Path("runs/a1"),
            LIVE,
            self.small.orderer,
            self.small.wishes,
            self.said.append,
            watch,
            lift=self.lift,
        )
        self.set_down(engine)
        self.said.clear()

    def falls(self):
        """And tells when it lay there, which nobody else has seen yet."""
        self.small.doll.fall()
        while upright(self.engine.state.quaternion):
            self.engine.idle()
        return self.small.now()

    def close(self):
        self.small.close()


@pytest.fixture
def scenes(tmp_path):
    made = []

    def make(doll=None, **options):
        made.append(Scene(tmp_path / f"run{len(made)}", doll or Roller(), **options))
        return made[-1]

    yield make
    for it in made:
        it.close()


def test_after_eight_seconds_it_gets_up_stands_and_follows(scenes):
    scene = scenes()
    fell = scene.falls()
    scene.set_down(scene.engine)
    assert scene.said == ["the robot has fallen and gets up by itself in 8 s; keep clear"]
    ((number, began),) = scene.rises
    assert number == 1
    assert 8.0 <= began - fell <= 8.05 + PERIOD
    assert scene.small.modes[-2:] == [Mode.STAND, Mode.RUN]
    assert scene.engine.running
    ((_, seconds, up),) = scene.ends
    assert up
    assert 1.4 < seconds < 4.0  # 0.4 s of swinging at least, then 1 s on its feet


def test_with_a_wait_of_zero_it_waits_for_a_hand(scenes, monkeypatch):
    """Sabotage: no script."""
    monkeypatch.setattr(stander, "LONGEST", 20.0)
    scene = scenes(wait=0.0)
    scene.falls()
    with pytest.raises(UserError, match="did not stand up within 20 s"):
        scene.set_down(scene.engine)
    assert scene.rises == []
    assert not scene.engine.running


def test_what_it_lay_in_a_rollout_counts(scenes):
    scene = scenes()
    fell = scene.falls()
    for _ in range(100):
        scene.engine.advance(np.tile(STANCE, (1, 1, 1)))
        scene.lift.watch(scene.engine)
    scene.set_down(scene.engine)
    assert scene.said == ["the robot has fallen and gets up by itself in 3 s; keep clear"]
    assert 8.0 <= scene.rises[0][1] - fell <= 8.1 + PERIOD


def test_a_rollout_is_the_policys_alone_however_long_it_lies(scenes):
    scene = scenes()
    scene.falls()
    for _ in range(250):
        scene.engine.advance(np.tile(STANCE, (1, 1, 1)))
        scene.lift.watch(scene.engine)
    assert scene.rises == []
    begun = scene.small.now()
    scene.set_down(scene.engine)
    assert scene.said == ["the robot has fallen and gets up by itself now; keep clear"]
    assert scene.rises[0][1] - begun <= 0.05 + PERIOD


def stopped_while_it_rises(scenes, monkeypatch, order):
    """In its first step the gate takes it out of the script's hands."""
    scene = scenes()
    scene.falls()
    begun = scene.lift.begun

    def stopped(number):
        begun(number)
        scene.small.orderer.order(order)

    scene.lift.begun = stopped
    monkeypatch.setattr(stander, "LONGEST", 12.0)
    with pytest.raises(UserError, match="did not stand up"):
        scene.set_down(scene.engine)
    return scene


def test_a_stop_reaches_it_while_it_gets_up_and_it_stays_limp(scenes, monkeypatch):
    scene = stopped_while_it_rises(scenes, monkeypatch, Order.STOP)
    assert scene.small.modes[-1] is Mode.FAULT
    assert scene.engine.told.target is None
    assert scene.small.doll.swung == 0  # its legs have hardly moved
    assert [(number, up) for number, _, up in scene.ends] == [(1, False)]
    assert scene.ends[0][1] <= 0.15  # s


def test_one_that_is_made_limp_on_its_back_does_not_get_up_by_itself(scenes, monkeypatch):
    scene = stopped_while_it_rises(scenes, monkeypatch, Order.DAMP)
    assert scene.small.modes[-1] is Mode.DAMP
    assert [number for number, _ in scene.rises] == [1]


def steps_without_a_gate(scenes, deaf):
    """The gate is lost in the first step of the script: how many are made in all?"""
    lost, steps = [], []

    def watch():
        if lost and not deaf:
            raise UserError("the gate is gone")

    scene = scenes(watch=watch)
    scene.falls()
    scene.lift.begun = lost.append
    scene.engine.stepped = lambda: steps.append(1)
    with nullcontext() if deaf else pytest.raises(UserError, match="the gate is gone"):
        scene.set_down(scene.engine)
    return len(steps)


def test_it_goes_no_step_further_when_its_gate_is_lost(scenes):
    assert steps_without_a_gate(scenes, deaf=False) == 1


def test_a_script_that_does_not_look_would_go_on(scenes):
    """Sabotage."""
    assert steps_without_a_gate(scenes, deaf=True) > 20


def held_for_a_moment(scenes):
    """Seconds from a hold in the script to the next beginning of it."""
    scene = scenes()
    scene.falls()
    begun, engine = scene.lift.begun, scene.engine
    held = []

    def hold(number):
        begun(number)
        if not held:
            held.append(scene.small.now())
            engine.stepped = trouble

    def trouble():
        engine.trouble, engine.stepped = "mode hold", None

    scene.lift.begun = hold
    scene.set_down(engine)
    return scene.rises[-1][1] - held[0], len(scene.rises)


def test_after_the_gate_stepped_in_it_is_watched_anew_as_in_a_run(scenes):
    seconds, rises = held_for_a_moment(scenes)
    assert rises == 2
    assert 8.0 <= seconds <= 8.2


def test_a_riser_that_forgets_nothing_would_go_on_at_once(scenes, monkeypatch):
    """Sabotage."""
    whole = Riser.forget

    def forget(self):
        if not getattr(self, "_rise", None) or self._rise.done(A1):
            whole(self)

    monkeypatch.setattr(Riser, "forget", forget)
    assert held_for_a_moment(scenes)[0] < 0.2


def rises_written(folder, counted):
    """The count in interventions.jsonl, as a scribe writes it, when it got up for the second time.

    The scribe is there before the first time, and reads on after it.
    """
    gating.create(folder, LIVE)
    pulse.create(folder, "actor")
    diary = Diary(folder)
    for number in (1, 2):
        counted(folder, number)
    diary.write(mailbox.Told(cycle=1, now=1.0, mode=Mode.RUN, since=0.5), last=True)
    diary.close()
    place.forget(folder)
    return json.loads((folder / "interventions.jsonl").read_text().splitlines()[-1])["counts"]


def test_how_often_it_got_up_is_counted_where_a_run_counts_it(tmp_path):
    assert rises_written(tmp_path, stander.counted)["rises"] == 2


def test_without_telling_it_would_not_be(tmp_path):
    """Sabotage."""
    assert rises_written(tmp_path, lambda folder, number: None)["rises"] == 0


# ---- physics ----------------------------------------------------------------------------------


def two_trials(scenes, monkeypatch, wait):
    """The first one ends on its back; what do both come to, and what is said between them?"""
    monkeypatch.setattr(playing, "STEPS", 120)
    scene = scenes(Metal(), wait=wait)
    engine = scene.engine
    arena = Arena(LeggedBody(engine), tasks.task("forward", A1), radius=None)
    engine.set_down, counted = scene.set_down, []

    def stepped():
        if not scene.lift.busy:
            scene.lift.watch(engine)
            counted.append(1)

    engine.stepped = stepped

    def falls(outcome, step):
        if step == 10:
            scene.small.doll.fall()
        return gait.stand(A1)[None]

    trials = [playing.play(arena, falls, 0.5)]
    trials.append(playing.play(arena, lambda outcome, step: gait.stand(A1)[None], 0.5))
    return scene, trials, len(counted)


@pytest.mark.timeout(300)
def test_an_emulated_robot_that_a_trial_left_on_its_back_makes_the_next_one_standing(
    scenes, monkeypatch
):
    scene, (first, second), counted = two_trials(scenes, monkeypatch, 8.0)
    assert first.aborted
    assert np.isfinite(first.ret)
    assert (second.aborted, second.unsafe) == (False, 0.0)
    assert second.ret > 0
    assert [number for number, _ in scene.rises] == [1]
    assert [said for said in scene.said if "gets up by itself" in said] == scene.said
    assert 61 + 10 <= counted - 120 <= 120  # steps of the script are nobody's rollout


@pytest.mark.timeout(300)
def test_without_the_script_the_next_trial_would_never_begin(scenes, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(stander, "LONGEST", 10.0)
    with pytest.raises(UserError, match="did not stand up within 10 s"):
        two_trials(scenes, monkeypatch, 0.0)
