"""A robot that a supervisor's orders make stand, and an arena on it."""

from pathlib import Path

from ursa.env.arena import Arena
from ursa.live.lift import Lift
from ursa.live.settings import Live
from ursa.live.stander import Stander
from ursa.robot.a1 import A1
from ursa.robot.legged import LeggedBody
from ursa.task import registry as tasks

LIVE = Live(acknowledge="emulator")
NEVER = Lift(A1, 0.0)  # nobody gets up by script
TASK = tasks.task("forward", A1)


def standing(small, said=None):
    """An engine whose robot is made to stand, by the orders of a supervisor."""
    engine = small.engine()
    heard = [] if said is None else said
    engine.set_down = Stander(Path("runs/a1"), LIVE, small.orderer, small.wishes, heard.append)
    return engine


def arena_on(engine):
    set_down, engine.set_down = engine.set_down, None
    body = LeggedBody(engine)
    engine.set_down = set_down
    return Arena(body, TASK, radius=None)
