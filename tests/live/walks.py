"""An actor on a walk that was recorded in simulation: what it is told, who pilots, its rows."""

from functools import cache

import numpy as np

from live.puppets import TICK, Puppet, states
from ursa.env.arena import Arena, arena
from ursa.gate.wired import Wired
from ursa.live.actor import Actor
from ursa.log import record
from ursa.log.record import Layout
from ursa.robot import gait
from ursa.robot.a1 import A1
from ursa.robot.legged import LeggedBody
from ursa.shared import ring
from ursa.task import registry as tasks
from ursa.types import Sizes

STEPS = 24
TASK = tasks.task("forward", A1)
LAYOUT = Layout(sizes=Sizes(observation=34, action=12, posture=len(TASK.posture_names)), skill=2)


@cache
def walk():
    """An A1 that trots in simulation at the gate's tick: actions, outcomes, ticks, targets."""
    place = arena("a1", TASK, 1, tick=TICK)
    engine, ticks, targets = place.body.engine, [], []
    advance = engine.advance

    def kept(target):
        found = advance(target)
        ticks.append(type(found)(**{name: it.copy() for name, it in vars(found).items()}))
        targets.append(target[0, -1].copy())
        return found

    engine.advance = kept
    begun = engine.look()
    ticks.append(type(begun)(**{name: it.copy() for name, it in vars(begun).items()}))
    outcomes = [place.start()]
    actions = [np.clip(gait.trot(A1, step), -1, 1) for step in range(STEPS)]
    for action in actions:
        outcomes.append(place.step(action[None]))
    return actions, outcomes, ticks, targets


def told(packets):
    return [states(ticks, packets) for ticks in walk()[2]]


class Scripted:
    """A pilot that does what the walk did; `known` as if a policy had been published."""

    class Known:
        version, skills = 3, np.array([[0.5, -0.5], [1.0, 2.0]], np.float32)

    def __init__(self, bad=()):
        self.known, self.refused, self.step, self.firsts = self.Known, 0, 0, []
        self.bad, self.done = bad, []

    def take(self): ...

    def act(self, observation, first, z, number):
        self.firsts.append(first)
        self.step += 1
        return None if self.step - 1 in self.bad else walk()[0][(self.step - 1) % STEPS]

    def did(self, action):
        self.done.append(action)


def actor_on(puppet, tmp_path, pilot, slots=64, **options):
    path = tmp_path / "ring"
    if not path.exists():
        ring.create(path, slots=slots, size=LAYOUT.kind.size, first=0)
    engine = Wired(A1, TICK, puppet, puppet, puppet)
    engine.told = puppet.newest()
    writer = ring.Writer(path)
    body = LeggedBody(engine)
    place = Arena(body, TASK, radius=None)
    settings = {"seed": 0, "skill_period": 5, **options}
    return Actor(place, pilot, writer, LAYOUT, **settings)


def rows(actor):
    """The rows in the ring so far."""
    found = [actor.writer.record(number) for number in range(actor.writer.next)]
    return record.unpack(LAYOUT, found)


def walked(tmp_path, packets, steps=STEPS):
    """The rows of an actor that does what the walk did, on what the walk's sensors said."""
    puppet = Puppet(told(packets))
    pilot = Scripted()
    actor = actor_on(puppet, tmp_path, pilot)
    actor._outcome = actor.arena.start()  # follows at once: the first state is the walk's first
    for _ in range(steps):
        actor.turn()
    return actor, puppet, rows(actor)
