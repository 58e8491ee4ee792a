"""URSA: a legged robot discovers by itself what it can do, and does it well and safely.

Importing the package is free: it loads neither JAX nor a simulator. Import the room you need,
for example ``ursa.robot`` or ``ursa.skill``.
"""

__version__ = "0.1.0"
