"""`ursa doctor`: what this machine can do for URSA, checked by doing it, with a fix per problem."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from json import dumps
from pathlib import Path
from typing import Literal

import ursa
from ursa.errors import install
from ursa.machine import cores
from ursa.machine import host_memory as memory

Status = Literal["ok", "warn", "fail"]
GIGABYTE = 1e9
REINSTALL = "install URSA again: pip install --upgrade ursa-robot (in a clone: make setup)"
GL_PACKAGES = "apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri"
LEAST_PYTHON = (3, 11)
LEAST_MEMORY = 2 * GIGABYTE  # a small training run with its replay and one compilation
LEAST_DISK = 5 * GIGABYTE  # a few checkpoints with their rows

DROP = """
<mujoco>
  <worldbody>
    <light pos="0 0 3"/>
    <geom type="plane" size="1 1 .1"/>
    <body pos="0 0 1"><freejoint/><geom type="sphere" size=".3" rgba="1 .3 .2 1"/></body>
  </worldbody>
</mujoco>
"""
RENDER = f"""
import mujoco
model = mujoco.MjModel.from_xml_string('''{DROP}''')
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 32, 32) as renderer:
    renderer.update_scene(data)
    picture = renderer.render()
assert picture.shape == (32, 32, 3), picture.shape
assert picture.std() > 1, "the picture is empty"
"""


@dataclass(frozen=True)
class Check:
    """The answer to one question about the machine."""

    name: str
    status: Status  # fail: training cannot run; warn: it can, something else cannot
    value: str
    fix: str | None = None  # what a person can do about it


def doctor(json: bool = False) -> int:
    """Check that this machine can train, and say how to fix what is missing.

    Every line is one check: ok, warn (training runs, something else does not) or fail. The exit
    code is 0 when training can run and 1 when it cannot.

    Args:
        json: Print one JSON object instead of lines, for scripts and bug reports.
    """
    checks = examine(CHECKS)
    print(as_json(checks) if json else as_lines(checks))
    return 0 if ready(checks) else 1


def examine(checks: Mapping[str, Callable[[], Check]]) -> list[Check]:
    """Run every check; one that raises has found that its part does not work."""
    answers = []
    for name, check in checks.items():
        try:
            answers.append(check())
        except Exception as error:  # whatever a broken installation raises is the finding
            reason = " ".join(str(error).split())
            answers.append(Check(name, "fail", f"{type(error).__name__}: {reason}", REINSTALL))
    return answers


def ready(checks: Sequence[Check]) -> bool:
    """Whether training can run."""
    return all(check.status != "fail" for check in checks)


def as_lines(checks: Sequence[Check]) -> str:
    """The report for a person."""
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        lines.append(f"{check.status:<4}  {check.name:<{width}}  {check.value}")
        if check.fix is not None:
            lines.append(f"      {'':<{width}}  -> {check.fix}")
    failed = [check.name for check in checks if check.status == "fail"]
    verdict = f"training cannot run: {', '.join(failed)}" if failed else "training can run"
    return "\n".join([*lines, "", verdict])


def as_json(checks: Sequence[Check]) -> str:
    """The same report for a program."""
    return dumps({"ready": ready(checks), "checks": [asdict(check) for check in checks]})


def check_python(found: Sequence[int] = sys.version_info[:3]) -> Check:
    """The interpreter is new enough."""
    value = ".".join(map(str, found))
    if tuple(found[:2]) >= LEAST_PYTHON:
        return Check("python", "ok", value)
    least = ".".join(map(str, LEAST_PYTHON))
    return Check("python", "fail", value, f"URSA needs Python {least} or newer")


def check_ursa() -> Check:
    """Which URSA this is."""
    return Check("ursa", "ok", ursa.__version__)


def check_jax(gpu_present: bool | None = None) -> Check:
    """JAX compiles and runs a product; says on what. A GPU that JAX does not use is a warning."""
    import jax
    import jax.numpy as jnp

    total = float(jax.jit(lambda a: (a @ a).sum())(jnp.ones((8, 8))))
    if total != 512:
        return Check(
            "jax", "fail", f"{jax.__version__}: 8x8 product gave {total}, not 512", REINSTALL
        )
    backend = jax.default_backend()
    kinds = sorted({device.device_kind for device in jax.devices()})
    value = f"{jax.__version__} on {backend}, {len(jax.devices())} device(s): {', '.join(kinds)}"
    if gpu_present is None:
        gpu_present = Path("/proc/driver/nvidia/version").exists()
    if gpu_present and backend == "cpu":
        fix = f"an NVIDIA driver is loaded but JAX does not use it: {install('cuda')}"
        return Check("jax", "warn", value, fix)
    return Check("jax", "ok", value)


def check_precision() -> Check:
    """How JAX multiplies float32 matrices here, where the code does not ask for more."""
    import jax

    setting = jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]
    backend = jax.default_backend()
    usual = {
        "cpu": "full float32",
        "gpu": "TF32 on Ampere and newer (3 digits); JAX_DEFAULT_MATMUL_PRECISION=highest is full",
        "tpu": "one bfloat16 pass (2 digits); JAX_DEFAULT_MATMUL_PRECISION=highest is full",
    }
    meaning = usual.get(backend, "chosen by the backend") if setting is None else "set by you"
    return Check("matmul precision", "ok", f"{setting or 'default'} on {backend}: {meaning}")


def check_library(name: str, find: Callable[[str], str] = version) -> Check:
    """A library that must be there."""
    try:
        return Check(name, "ok", find(name))
    except PackageNotFoundError:
        return Check(name, "fail", "not installed", REINSTALL)


def check_mujoco() -> Check:
    """MuJoCo compiles a model, and a dropped ball falls in it."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(DROP)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=50)
    height = float(data.qpos[2])
    if not 0.2 < height < 1.0:
        value = f"{mujoco.__version__}: a ball dropped from 1 m is at {height:.3f} m after 0.1 s"
        return Check("mujoco", "fail", value, REINSTALL)
    return Check("mujoco", "ok", f"{mujoco.__version__}, a model stepped")


def renders(backend: str) -> bool:
    """Whether MuJoCo draws a picture with this GL backend; asked in a process that may crash."""
    environment = {**os.environ, "MUJOCO_GL": backend}
    environment.pop("PYOPENGL_PLATFORM", None)
    command = [sys.executable, "-c", RENDER]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def check_rendering(works: Callable[[str], bool] = renders, platform: str = sys.platform) -> Check:
    """Pictures without a screen. Training needs none, so their absence is a warning."""
    backends = ("egl", "osmesa") if platform == "linux" else ("glfw",)
    working = [backend for backend in backends if works(backend)]
    if not working:
        value = f"none of {', '.join(backends)} draws: no pictures, no videos"
        fix = GL_PACKAGES if platform == "linux" else REINSTALL
        return Check("rendering", "warn", value, fix)
    return Check(
        "rendering", "ok", f"MUJOCO_GL={working[0]}" + "".join(f", {b}" for b in working[1:])
    )


def check_video(which: Callable[[str], str | None] = shutil.which) -> Check:
    """Something that writes video files (optional)."""
    if importlib.util.find_spec("imageio_ffmpeg") is not None:
        return Check("video", "ok", f"imageio-ffmpeg {version('imageio-ffmpeg')}")
    if which("ffmpeg"):
        return Check("video", "ok", "ffmpeg of the system")
    return Check("video", "ok", "no ffmpeg (optional)", f"for videos: {install('video')}")


def check_pybullet(find: Callable[[str], str] = version) -> Check:
    """The second simulator (optional). Its import prints, so only its presence is asked."""
    try:
        return Check("pybullet", "ok", find("pybullet"))
    except PackageNotFoundError:
        fix = "for a second simulator: pip install pybullet (from Python 3.12 on, pip compiles it)"
        return Check("pybullet", "ok", "not installed (optional)", fix)


def check_cores() -> Check:
    """Processor cores this process may use."""
    return Check("cores", "ok", str(cores()))


def check_memory(available: Callable[[], float | None] = memory) -> Check:
    """Enough memory for the smallest training run."""
    amount = available()
    if amount is None:
        return Check("memory", "ok", "unknown on this system")
    value = f"{amount / GIGABYTE:.1f} GB available"
    if amount < LEAST_MEMORY:
        fix = f"close other programs: the smallest run wants {LEAST_MEMORY / GIGABYTE:.0f} GB"
        return Check("memory", "warn", value, fix)
    return Check("memory", "ok", value)


def check_disk(folder: Path | None = None, free: float | None = None) -> Check:
    """Room for checkpoints where runs are written by default."""
    folder = folder or Path.cwd()
    free = shutil.disk_usage(folder).free if free is None else free
    value = f"{free / GIGABYTE:.1f} GB free in {folder}"
    if free < LEAST_DISK:
        fix = f"make room or run elsewhere: a long run wants {LEAST_DISK / GIGABYTE:.0f} GB"
        return Check("disk", "warn", value, fix)
    return Check("disk", "ok", value)


CHECKS: Mapping[str, Callable[[], Check]] = {
    "python": check_python,
    "ursa": check_ursa,
    "jax": check_jax,
    "matmul precision": check_precision,
    "equinox": lambda: check_library("equinox"),
    "optax": lambda: check_library("optax"),
    "mujoco": check_mujoco,
    "rendering": check_rendering,
    "video": check_video,
    "pybullet": check_pybullet,
    "cores": check_cores,
    "memory": check_memory,
    "disk": check_disk,
}
