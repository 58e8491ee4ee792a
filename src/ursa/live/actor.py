"""Actor: one robot that follows skills, one control step at a time, and what it leaves in the ring.

What it feels comes from an arena over the gate, what it does from a pilot. A row is put for every
control step; where something other than the action made the step, the row says so, and the next one
begins a sequence.
"""

import logging
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ursa.env.arena import Arena, Outcome
from ursa.errors import UserError
from ursa.gate.mailbox import Pose
from ursa.gate.modes import Mode
from ursa.gate.wired import Wired
from ursa.live import arena as floor
from ursa.live.homeward import upright
from ursa.live.riser import Riser
from ursa.live.settings import Live
from ursa.log import record
from ursa.log.record import Layout, Mark
from ursa.robot import gait
from ursa.robot.legged import LeggedBody
from ursa.shared import ring
from ursa.types import Row

Array = np.ndarray
LOST = 1.0  # s without a pose, then a watched robot stands still
SKILL = 0x5C111  # stream of chance: which of the skills of a snapshot is tried
log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Led:
    """What led to the present: the choice before it."""

    action: Float[Array, " A"]
    skill: Float[Array, " D"]
    version: int  # of the policy; 0: chance or a script
    marks: int = 0


class Actor:
    """One robot and its pilot; `turn` is one control step."""

    def __init__(
        self,
        arena: Arena,
        pilot: Any,
        writer: ring.Writer,
        layout: Layout,
        *,
        seed: int,
        skill_period: int,
        disc: floor.Arena | None = None,
        home: Any = None,
        longest: float = Live.homing_time,
        riser: Riser | None = None,
    ) -> None:
        """`disc`: the part of the floor that is watched; None: nobody knows where the robot is.
        `longest`: s on the way home, then it stands still until somebody has carried it."""
        assert isinstance(arena.body, LeggedBody)
        assert isinstance(arena.body.engine, Wired)
        self.arena, self.engine, self.pilot, self.writer = arena, arena.body.engine, pilot, writer
        self._layout, self._seed, self._period = layout, seed, skill_period
        self._disc, self._home, self._longest = disc, home, longest
        self.riser = Riser(arena.body.spec, 0.0) if riser is None else riser
        self.homing = floor.Homing()
        self._outcome: Outcome | None = None  # None: the gate does not follow us
        self._led = Led(np.zeros(layout.sizes.action), np.zeros(layout.skill), 0)
        self._skill, self._age = np.zeros(layout.skill), 0  # followed now, for so many steps
        self._first = self._parted = True  # a sequence begins: here, in the ring
        self._full = self._lost = self._stuck = False  # stands still for that
        names = ("rows", "refused", "pauses", "interventions", "lost", "stuck")
        self.counts = dict.fromkeys(names, 0)

    def turn(self) -> None:
        """One control step: choose, tell, wish, wait, feel. Or wait, when it is not our turn."""
        self.pilot.take()
        if self._outcome is None:
            self.engine.idle()
            self._rest()
            if not self.engine.running or self._paused():
                return
            self._outcome = self.arena.start()
            self.riser.forget()
            self._first = self._parted = True
            self._led = Led(np.zeros_like(self._led.action), self._skill, 0)
        chosen = self._chosen(self._outcome)
        self._put(self._outcome)
        if chosen is None:  # no action: the robot stays as it is until there is one
            self._outcome = None
            return
        self._led, self._first = chosen, False
        outcome = self.arena.step(chosen.action[None])
        if self.engine.trouble:
            self.counts["interventions"] += 1
            log.info("step %d: %s", self.writer.next, self.engine.trouble)
            self._led = Led(chosen.action, chosen.skill, chosen.version, int(Mark.INTERVENTION))
            self._put(outcome)
            self._outcome = None
        elif self._paused():
            self._put(outcome)
            self._outcome = None
        else:
            self._outcome = outcome

    @property
    def asks(self) -> str:
        """What only a hand can do for the robot; "": nothing."""
        if not self._stuck:
            return ""
        return (
            f"{self._longest:g} s on its way home and not there: stop it, carry it to the middle, "
            "acknowledge"
        )

    @property
    def _pose(self) -> Pose | None:
        """Where the robot is, as far as anybody says."""
        return None if self.engine.told is None else self.engine.told.pose

    def _chosen(self, outcome: Outcome) -> Led | None:
        """The next action, by the policy, a script that gets up, the way home or chance."""
        number, known = self.writer.next, self.pilot.known
        at_home = not self._strayed()
        if known is None:
            self._skill = np.zeros(self._layout.skill)
            led = Led(gait.random(self.arena.body.spec, number, self._seed), self._skill, 0)
        else:
            if self._first or self._age >= self._period or not self._led.version:
                rng = np.random.default_rng([self._seed, SKILL, number])
                self._skill, self._age = known.skills[rng.integers(len(known.skills))], 0
            self._age += 1
            action = self.pilot.act(outcome.observation, self._first, self._skill, number)
            if action is None:
                return None
            led = Led(action, self._skill, known.version)
        rising = self.riser(outcome.reading.quaternion[0])
        if rising is not None:
            return self._instead(rising, Mark.RISING)
        if at_home:
            return led
        pose = self._pose
        if pose is None or not upright(outcome.reading.quaternion[0]):
            return Led(led.action, led.skill, led.version, int(Mark.HOMING))
        return self._instead(self._home(outcome.observation, pose), Mark.HOMING)

    def _instead(self, action: Float[Array, " A"], why: Mark) -> Led:
        """What a script does in place of the policy, which is told."""
        if self.pilot.known is not None:
            self.pilot.did(action)
        return Led(action, self._skill, 0, int(why))

    def _strayed(self) -> bool:
        """Whether the robot has to go home; it knows by its pose source, or not at all."""
        pose = self._pose
        if self._disc is None or pose is None:
            return False
        before, self.homing = self.homing, floor.follow(self._disc, self.homing, pose.x, pose.y)
        if self.homing.active and not before.active:
            self._home.begin()
        return self.homing.active

    def _rest(self) -> None:
        """A robot that waits for a person may be carried: its way home begins anew. One that went
        limp by itself stands up by itself: what kept it from going home still does."""
        told = self.engine.told
        if told is not None and (told.mode is Mode.FAULT or told.fault):
            self.homing = replace(self.homing, lasted=0)

    def _paused(self) -> bool:
        """Whether to stand still: the disk does not keep up, nobody knows where we are, or
        something keeps us from going home."""
        least = self.writer.slots // (4 if self._full else 2)
        full = self.writer.waiting > least
        self.counts["pauses"] += full and not self._full
        self._full = full
        lost = False
        if self._disc is not None:
            pose = self._pose
            lost = pose is None or self.engine.clock.now() - pose.time > LOST
            self.counts["lost"] += lost and not self._lost
            self._lost = lost
        stuck = self.homing.lasted * self.arena.body.spec.period > self._longest
        self.counts["stuck"] += stuck and not self._stuck
        self._stuck = stuck
        return full or lost or stuck

    def _put(self, outcome: Outcome) -> None:
        """The row of arriving here; after one that the ring refused, a sequence begins."""
        told, led = self.engine.told, self._led
        assert told is not None
        age = max(0.0, self.engine.clock.now() - told.heard)
        row = Row(
            observation=np.asarray(outcome.observation, np.float32),
            action=np.asarray(np.clip(led.action, -1, 1), np.float32)[None],
            reward=np.asarray(outcome.reward, np.float32),
            cost=np.asarray(outcome.cost, np.float32),
            posture=np.asarray(outcome.posture, np.float32),
            safe=np.asarray(outcome.safe, bool),
            first=np.array([self._first or self._parted]),
        )
        try:
            data = record.pack(
                self._layout,
                row,
                skill=np.asarray(led.skill, np.float32),
                policy=led.version,
                time=round(told.heard * 1e9),
                age=min(round(age * 1e6), 2**32 - 1),
                marks=led.marks,
            )
        except UserError as error:  # the task made no number of what the robot said
            log.warning("%s", error)
            self.counts["refused"] += 1
            self._parted = True
            return
        kept = self.writer.put(data)
        self.counts["rows" if kept else "refused"] += 1
        self._parted = not kept
