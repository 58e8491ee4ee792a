"""URSA: a legged robot discovers by itself what it can do, and does it well and safely.

Importing the package is free: it loads neither JAX nor a simulator. Import the room you need,
for example ``ursa.robot`` or ``ursa.skill``; ``from ursa import Repertoire`` loads its room then.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# What is public at the top, and where it lives; each is imported when it is first asked for.
_HOMES = {
    "Agent": "ursa.run.agent",
    "Repertoire": "ursa.skill.repertoire",
    "train": "ursa.run.start",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ursa' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
