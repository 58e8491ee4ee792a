"""Render: a picture of a robot as a reading has it, whatever engine or recording it came from."""

from collections.abc import Sequence
from itertools import pairwise
from types import TracebackType

import numpy as np
from jaxtyping import Float, UInt8

from ursa.errors import UserError, unknown
from ursa.robot.damage import Damage
from ursa.robot.mjcf import mjcf
from ursa.robot.reading import Reading
from ursa.robot.spec import RobotSpec
from ursa.show import gl

Array = np.ndarray
Picture = UInt8[Array, "height width 3"]

# azimuth and elevation of the line of sight in degrees; 90 looks to the left, 180 to the back
CAMERAS = {"follow": (125, -18), "left": (235, -18), "side": (90, -8), "front": (165, -12)}
CAMERAS |= {"above": (90, -80)}
DISTANCE = 4.8  # of the camera from the robot, in rest heights
LIGHT = 2.0  # m from the robot: the shadow map is centred on the light's line
SIZES = (16, 4096)  # pixels
GEOMS = 1000  # room in the scene, far more than any robot has
BACK_HIP = (0.45, 0.50, 0.57, 1.0)  # unlike the front ones: one sees which way it faces
PATH, DOT, LINE = (0.10, 0.35, 0.80, 1.0), 0.03, 0.008  # colour; radii in m
DAMAGED = (0.85, 0.08, 0.10, 1.0)


class Studio:
    """Draws robots of one spec. Holds GL memory: use it in a `with`, or close it."""

    def __init__(
        self,
        spec: RobotSpec,
        *,
        width: int = 640,
        height: int = 480,
        camera: str = "follow",
        smooth: bool = False,
    ) -> None:
        """`smooth` draws edges without stairs and takes about twice as long."""
        check(spec, width=width, height=height, camera=camera)
        self._gl = gl.context(width, height)
        import mujoco  # after the backend was looked at: a bad MUJOCO_GL breaks this import

        self.spec = spec
        self._mujoco = mujoco
        self._model = mujoco.MjModel.from_xml_string(mjcf(spec, tick=spec.period))
        self._model.vis.global_.offwidth, self._model.vis.global_.offheight = width, height
        self._model.vis.quality.offsamples = 4 if smooth else 0
        for leg in (leg for leg in spec.legs if leg.origin[0] < 0):
            self._paint(f"{leg.name}.hip", BACK_HIP)
        self._colors = self._model.geom_rgba.copy()
        self._data = mujoco.MjData(self._model)
        self._scene = mujoco.MjvScene(self._model, GEOMS)
        self._option = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._camera.azimuth, self._camera.elevation = CAMERAS[camera]
        self._camera.distance = DISTANCE * spec.rest_height
        self._frame = mujoco.MjrRect(0, 0, width, height)
        self._context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)

    def picture(
        self,
        reading: Reading,
        robot: int = 0,
        *,
        damages: Sequence[Damage] = (),
        path: Sequence[Reading] = (),
    ) -> Picture:
        """One robot of the reading where it is; limbs with a damaged joint are red.

        The camera goes along with it: a line on the floor along earlier readings, the `path`,
        shows how far it came.
        """
        self._check(reading, robot)
        mujoco = self._mujoco
        self._pose(reading, robot)
        self._model.geom_rgba[:] = self._colors
        for damage in damages:
            self._paint(self.spec.joint_names[damage.joint], DAMAGED)
        self._gl.make_current()
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        scene = (self._option, None, self._camera, everything, self._scene)
        mujoco.mjv_updateScene(self._model, self._data, *scene)
        self._mark([it.truth.position[robot] for it in path if it.truth is not None])
        mujoco.mjr_render(self._frame, self._scene, self._context)
        pixels = np.empty((self._frame.height, self._frame.width, 3), np.uint8)
        mujoco.mjr_readPixels(pixels, None, self._frame, self._context)
        return pixels[::-1]  # GL counts rows from below

    def _pose(self, reading: Reading, robot: int) -> None:
        """The model as the robot is, camera and light with it. A real robot stays at the origin."""
        position = np.array([0.0, 0.0, reading.height[robot]])
        if reading.truth is not None:
            position = reading.truth.position[robot]
        turn, angles = reading.quaternion[robot], reading.joint_angle[robot]
        self._data.qpos[:] = np.concatenate([position, turn, angles])
        self._mujoco.mj_forward(self._model, self._data)
        # A steady height of the eye: the robot bobs in the picture, the floor does not.
        self._camera.lookat[:] = (*position[:2], 0.6 * self.spec.rest_height)
        self._data.light_xpos[0] = self._camera.lookat - LIGHT * self._data.light_xdir[0]

    def _mark(self, places: Sequence[Float[Array, " 3"]]) -> None:
        """A line over the floor, with a dot where it begins."""
        floor = [(x, y, 0.0) for x, y, _ in places]
        kinds = self._mujoco.mjtGeom
        ball, rod = kinds.mjGEOM_SPHERE.value, kinds.mjGEOM_CAPSULE.value
        for one, two in [*zip(floor[:1], floor[:1], strict=True), *pairwise(floor)]:
            if self._scene.ngeom == self._scene.maxgeom:
                return
            geom = self._scene.geoms[self._scene.ngeom]
            self._scene.ngeom += 1
            size, turn = np.full(3, DOT), np.eye(3).ravel()
            color = np.array(PATH, np.float32)
            self._mujoco.mjv_initGeom(geom, ball, size, np.array(one), turn, color)
            if one != two:
                self._mujoco.mjv_connector(geom, rod, LINE, np.array(one), np.array(two))

    def _paint(self, limb: str, color: tuple[float, ...]) -> None:
        self._model.geom_rgba[self._model.geom_bodyid == self._model.body(limb).id] = color

    def _check(self, reading: Reading, robot: int) -> None:
        if self._context is None:
            raise UserError("this studio is closed: open another one")
        if reading.spec != self.spec:
            raise UserError(
                f"the reading is of a {reading.spec.name}, the studio draws {self.spec.name}: "
                "open a studio with the spec of the reading"
            )
        if not 0 <= robot < reading.count:
            raise UserError(f"robot = {robot}: the reading has robots 0 to {reading.count - 1}")

    def close(self) -> None:
        """Give the GL memory back; a second time does nothing."""
        if self._context is not None:
            self._gl.make_current()
            self._context.free()
            self._gl.free()
            self._context = None

    def __enter__(self) -> "Studio":
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def picture(
    reading: Reading,
    robot: int = 0,
    *,
    damages: Sequence[Damage] = (),
    width: int = 640,
    height: int = 480,
    camera: str = "follow",
) -> Picture:
    """One picture. For many, hold a Studio: opening it costs more than drawing."""
    size = {"width": width, "height": height}
    with Studio(reading.spec, **size, camera=camera, smooth=True) as studio:
        return studio.picture(reading, robot, damages=damages)


def check(spec: RobotSpec, *, width: int, height: int, camera: str) -> None:
    """Refuse what cannot be drawn, before anything is opened."""
    if not spec.legs:
        raise UserError(
            f"{spec.name} has no legs, so there is nothing to draw; "
            "pictures are of robots with legs, such as a1 or go2"
        )
    for name, pixels in (("width", width), ("height", height)):
        if not SIZES[0] <= pixels <= SIZES[1]:
            raise UserError(f"{name} = {pixels} pixels, want {SIZES[0]} to {SIZES[1]}")
    if camera not in CAMERAS:
        raise unknown("camera", camera, CAMERAS)
