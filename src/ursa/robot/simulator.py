"""MuJoCoEngine: many robots in MuJoCo, stepped on a thread pool; the same bits on any number.

No Python runs between two physics ticks: PD, torque-speed line and tick clip are in the model
(`mjcf.py`), the targets of all ticks go in at once and the sensors of all ticks come back.
"""

from collections.abc import Mapping

import mujoco
import mujoco.batch
import numpy as np
from jaxtyping import Bool, Float
from mujoco.batch import Batch

from ursa.errors import UserError
from ursa.machine import cores
from ursa.robot.engine import Impairment, Ticks
from ursa.robot.kinematics import soles_below
from ursa.robot.mjcf import FRICTION, mjcf
from ursa.robot.number import whole
from ursa.robot.reading import Truth
from ursa.robot.spec import RobotSpec
from ursa.robot.tick import check_tick

Array = np.ndarray
LONGEST_TICK = 0.005  # s: beyond, contacts and motors are no longer to be trusted
LOCK_RATE = 3.0  # rad/s: how fast a seized joint is brought to its angle, so that nothing snaps
FREE = 7  # numbers of the trunk in qpos: position and quaternion
RECORD = ("qpos", "qvel", "qfrc_actuator", "sensordata")
GAIN_R, GAIN_KP, GAIN_KD = 0, 4, 6  # where MuJoCo keeps resistance, kp, kd of a dcmotor


class MuJoCoEngine:
    """`count` robots of one spec on one floor each. See `engine.Engine` for the verbs."""

    exact = True  # a restored state continues with the same bits

    def __init__(
        self,
        spec: RobotSpec,
        count: int = 1,
        *,
        tick: float = 0.005,
        threads: int = 0,
        clip: bool = True,
        solid: bool = False,
    ) -> None:
        whole("count", count, least=1)
        whole("threads", threads, least=0)
        check_tick(spec, tick, LONGEST_TICK, {0.002: "faithful", 0.005: "fast"})
        self.spec, self.count, self.tick, self.clip = spec, count, tick, clip
        self.model = mujoco.MjModel.from_xml_string(mjcf(spec, tick=tick, clip=clip, solid=solid))
        workers = min(threads or cores(), count)
        self.batch = Batch(self.model, count, workers)
        self._qpos, self._qvel = self.batch.bind("qpos"), self.batch.bind("qvel")
        self._sensors = self.batch.bind("sensordata")
        self._torque = self.batch.bind("qfrc_actuator")
        size = spec.action_size
        self._diverged = np.zeros(count, bool)
        self._impairment = Impairment(
            strength=np.ones((count, size)),
            locked=np.zeros((count, size), bool),
            angle=np.zeros((count, size)),
        )
        self._friction, self._mass = np.ones(count), np.ones(count)
        self._pushed = False
        self._buffers: dict[int, dict] = {}
        self._controls: dict[int, Array] = {}
        self.place(np.ones(count, bool))

    # ---- hands --------------------------------------------------------------------------------

    def place(self, which: Bool[Array, " n"]) -> None:
        ids = np.flatnonzero(which)
        if not ids.size:
            return
        self.batch.reset(ids, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self._qpos[ids, :FREE] = (0, 0, self.spec.rest_height, 1, 0, 0, 0)
        self._qpos[ids, FREE:] = self.spec.of_joints("stance")
        self._hold(ids)
        self._apply()
        self.batch.forward(ids)
        self._diverged[ids] = False

    def carry(self, which: Bool[Array, " n"]) -> None:
        ids = np.flatnonzero(which)
        if ids.size:
            self._qpos[ids, :2] = 0.0
            self.batch.forward(ids)

    def push(self, force: Float[Array, "n 3"]) -> None:
        self.batch.bind("xfrc_applied")[:, 1, :3] = force  # body 1 is the trunk
        self._pushed = True

    # ---- time ---------------------------------------------------------------------------------

    def advance(self, target: Float[Array, "n k A"]) -> Ticks:
        count, ticks, size = target.shape
        control = self._control(ticks)
        control[:, :, :size] = target
        self._ramp_locks(ticks * self.tick)
        before = self.batch.warning[:, :, 1].copy()
        failed = np.zeros(count, bool)
        try:
            record = self.batch.rollout(ticks, control, record=RECORD, out=self._buffers.get(ticks))
        except mujoco.batch.SimulationError as error:
            failed[error.ids] = True
            record = self._buffers[ticks]
        self._buffers[ticks] = record
        warned = (self.batch.warning[:, :, 1] > before).any(axis=1)
        self._diverged = failed | warned | ~np.isfinite(self.batch.state).all(axis=1)
        if self._pushed:
            self.batch.bind("xfrc_applied")[:, 1] = 0.0
            self._pushed = False
        return self._ticks(*(record[name] for name in RECORD))

    def look(self) -> Ticks:
        now = (self._qpos, self._qvel, self._torque, self._sensors)
        return self._ticks(*(field[:, None] for field in now))

    def _control(self, ticks: int) -> Array:
        """A buffer for the targets of one step; actuators beyond the joints take zeros."""
        if ticks not in self._controls:
            self._controls[ticks] = np.zeros((self.count, ticks, self.model.nu))
        return self._controls[ticks]

    def _ticks(self, qpos: Array, qvel: Array, torque: Array, sensors: Array) -> Ticks:
        """Angles, speeds, gyro at the end of each tick; torque, acceleration, contact during it."""
        return Ticks(
            joint_angle=qpos[..., FREE:],
            joint_speed=qvel[..., 6:],
            torque=torque[..., 6:],
            quaternion=qpos[..., 3:FREE],
            gyro=qvel[..., 3:6],
            acceleration=sensors[..., :3],
            contact=sensors[..., 3:] > self.spec.foot_force,
        )

    def diverged(self) -> Bool[Array, " n"]:
        return self._diverged

    def truth(self) -> Truth:
        qpos, qvel = self._qpos, self._qvel
        below = soles_below(self.spec, qpos[:, FREE:], qpos[:, 3:FREE])
        return Truth(
            position=qpos[:, :3].copy(),
            velocity=qvel[:, :3].copy(),
            foot_height=qpos[:, 2:3] - below,
        )

    # ---- damage and variation -----------------------------------------------------------------

    def impair(self, impairment: Impairment) -> None:
        self._impairment = impairment
        self._hold(np.arange(self.count))
        self._apply()

    def vary(self, friction: Float[Array, " n"], mass: Float[Array, " n"]) -> None:
        self._friction, self._mass = np.array(friction), np.array(mass)
        floor = self.batch.expand("geom_friction")
        floor[:, 0, 0] = FRICTION * self._friction
        for name in ("body_mass", "body_inertia"):
            sound = getattr(self.model, name)[1]
            scale = self._mass.reshape(-1, *[1] * sound.ndim)
            self.batch.expand(name)[:, 1] = scale * sound
        self.batch.set_const()

    def _hold(self, ids: Array) -> None:
        """Locks start where the joint is and are brought to their angle step by step."""
        if self._impairment.locked.any():
            self.batch.expand("eq_data")[ids, :, 0] = self._qpos[ids, FREE:]

    def _ramp_locks(self, seconds: float) -> None:
        locked = self._impairment.locked
        if locked.any():
            at = self.batch.expand("eq_data")[:, :, 0]
            gap = np.clip(self._impairment.angle - at, -LOCK_RATE * seconds, LOCK_RATE * seconds)
            self.batch.expand("eq_data")[:, :, 0] = at + np.where(locked, gap, 0.0)

    def _apply(self) -> None:
        """Write the impairment into the per-robot models; nothing to do while all are sound."""
        strength, locked = self._impairment.strength, self._impairment.locked
        self.batch.bind("eq_active")[:] = locked
        sound = (strength == 1).all() and "actuator_gainprm" not in self.batch._expanded
        if sound:
            return
        size, model = self.spec.action_size, self.model
        gain = self.batch.expand("actuator_gainprm")
        base = model.actuator_gainprm[None, :size]
        for column in (GAIN_KP, GAIN_KD):
            gain[:, :size, column] = base[:, :, column] * strength
        # a weaker motor has a lower stall torque: the line falls with the strength
        gain[:, :size, GAIN_R] = base[:, :, GAIN_R] / np.maximum(strength, 1e-3)
        bias = self.batch.expand("actuator_biasprm")
        bias[:, size:, 2] = model.actuator_biasprm[None, size:, 2] * strength[:, : model.nu - size]
        force = self.batch.expand("actuator_forcerange")
        force[:, :size] = model.actuator_forcerange[None, :size] * strength[:, :, None]
        total = self.batch.expand("jnt_actfrcrange")
        total[:, 1:] = model.jnt_actfrcrange[None, 1:] * strength[:, :, None]

    # ---- state --------------------------------------------------------------------------------

    def save(self) -> dict[str, Array]:
        """Everything physics depends on; the model itself is rebuilt from the spec."""
        state = {
            "physics": self.batch.state.copy(),
            "warning": self.batch.warning.copy(),
            "strength": self._impairment.strength.copy(),
            "locked": self._impairment.locked.copy(),
            "lock_goal": self._impairment.angle.copy(),
            "friction": self._friction.copy(),
            "mass": self._mass.copy(),
        }
        held = self.batch.expanded("eq_data")
        at = state["lock_goal"] if held is None else held[:, :, 0].copy()
        return state | {"lock_angle": at}

    def restore(self, state: Mapping[str, Array]) -> None:
        if state["physics"].shape != self.batch.state.shape:
            raise UserError(
                f"saved physics has shape {state['physics'].shape}, this body needs "
                f"{self.batch.state.shape}: restore into the same robot, count and options"
            )
        self._impairment = Impairment(
            strength=state["strength"].copy(),
            locked=state["locked"].copy(),
            angle=state["lock_goal"].copy(),
        )
        if (state["friction"] != self._friction).any() or (state["mass"] != self._mass).any():
            self.vary(state["friction"], state["mass"])
        self._apply()
        if self._impairment.locked.any():
            self.batch.expand("eq_data")[:, :, 0] = state["lock_angle"]
        self.batch.state[:] = state["physics"]
        self.batch.warning[:] = state["warning"]
        self.batch.forward()
        self.batch.state[:] = state["physics"]  # forward touches the solver's warm start
        self._diverged[:] = False
        self._pushed = True  # the state may hold a push; it ends with the next advance

    def close(self) -> None:
        self._buffers.clear()
