"""GL: somewhere to draw without a screen. EGL, else OSMesa, or whatever MUJOCO_GL names.

MuJoCo chooses its backend when it is first imported; we choose when the first picture is drawn,
so that it does not matter who imported MuJoCo before. A backend that a process once loaded cannot
be exchanged for another: hence a look at the libraries before any of them is loaded.
"""

import ctypes
import ctypes.util
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ursa.errors import UserError, unknown

OFF = ("disable", "disabled", "off", "false", "0")
WINDOW = ("glfw", "glx", "enable", "enabled", "on", "true", "1")  # MuJoCo: all the same, glfw
NATIVE = ("cgl", "wgl")
PACKAGES = "apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri (or libosmesa6)"
EGL_DEVICE = 0x313F  # EGL_PLATFORM_DEVICE_EXT


def egl_works() -> bool:
    """Whether EGL finds a device, a GPU or the processor, that it can draw on."""
    if ctypes.util.find_library("EGL") is None:
        return False
    try:
        egl = ctypes.CDLL("libEGL.so.1")
    except OSError:
        return False
    egl.eglGetProcAddress.restype = ctypes.c_void_p
    query = egl.eglGetProcAddress(b"eglQueryDevicesEXT")
    display = egl.eglGetProcAddress(b"eglGetPlatformDisplayEXT")
    if not query or not display:
        return False
    pointer, number = ctypes.c_void_p, ctypes.c_int
    devices, found = (pointer * 16)(), number()
    listing = ctypes.CFUNCTYPE(ctypes.c_uint, number, pointer, pointer)(query)
    listing(len(devices), ctypes.addressof(devices), ctypes.addressof(found))
    opening = ctypes.CFUNCTYPE(pointer, ctypes.c_uint, pointer, pointer)(display)
    egl.eglInitialize.argtypes = (pointer, pointer, pointer)
    opened = (opening(EGL_DEVICE, device, None) for device in devices[: found.value])
    return any(it and egl.eglInitialize(it, None, None) for it in opened)


def osmesa_works() -> bool:
    """Whether the library is there; it needs nothing else."""
    return ctypes.util.find_library("OSMesa") is not None


LOOK: Mapping[str, Callable[[], bool]] = {"egl": egl_works, "osmesa": osmesa_works}


def backend(look: Mapping[str, Callable[[], bool]] = LOOK) -> str:
    """The name of the backend that will draw, or an error that says what to install."""
    asked = os.environ.get("MUJOCO_GL", "").lower().strip()
    if asked in OFF:
        raise UserError(f"MUJOCO_GL={asked} forbids pictures: unset it, or set it to egl or osmesa")
    if asked and asked not in (*look, *WINDOW, *NATIVE):
        raise unknown("backend in MUJOCO_GL", asked, (*look, "glfw", "disable"))
    if asked in look and not look[asked]():
        raise UserError(f"no picture: MUJOCO_GL={asked}, which does not work here. {fix()}")
    if asked or sys.platform != "linux":
        return asked or "native"
    for name, works in look.items():
        if works():
            return name
    raise UserError(f"no picture: neither EGL nor OSMesa works here. {fix()}")


def context(width: int, height: int) -> Any:
    """A GL context of the chosen backend, current; the caller frees it."""
    name = backend()
    try:
        if name == "egl":
            from mujoco.egl import GLContext
        elif name == "osmesa":
            from mujoco.osmesa import GLContext
        elif name in WINDOW:
            from mujoco.glfw import GLContext
        else:
            from mujoco import GLContext
        made = GLContext(width, height)
        made.make_current()
    except Exception as error:  # whatever a driver or its Python binding raises is the finding
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"no picture: GL backend {name} failed ({reason}). {fix()}") from error
    return made


def fix() -> str:
    """What a person can do about it."""
    if sys.platform == "linux":
        return f"On Debian or Ubuntu: {PACKAGES}"
    return "Install URSA again: pip install --upgrade ursa-robot (in a clone: make setup)"
