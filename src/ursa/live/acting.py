"""Acting: the process that follows skills on the robot, 20 times a second, and says what happened.

It reads what the gate tells, leaves wishes for the gate, and puts one row into the ring for every
control step. It never waits for learner or recorder on a wall clock. Started by the supervisor as
`python -m ursa.live.acting FOLDER`.
"""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from ursa.config import alone
from ursa.env.arena import arena_over
from ursa.gate import mailbox
from ursa.gate.wired import Wired
from ursa.live import arena as floor
from ursa.live import child, settings
from ursa.live.actor import Actor
from ursa.live.homeward import guide
from ursa.live.pace import Pace
from ursa.live.riser import Riser
from ursa.live.settings import Live
from ursa.log import store
from ursa.robot import registry as robots
from ursa.run import folder as place
from ursa.shared import pulse, ring
from ursa.shared.clock import open_clock

APART = 0.05  # real seconds between two looks for what another process has to make first


def joined(
    folder: Path, live: Live, engine: Wired, pilot: Callable[[Any], Any], writer: ring.Writer
) -> Actor:
    """An actor put together from the files of a run; `pilot` makes one for a plan."""
    from ursa.run.plan import plan

    config = alone(place.config_of(folder))
    arena = arena_over(engine, config)
    disc = floor.Arena(radius=live.arena_radius, margin=live.arena_margin) if live.pose else None
    return Actor(
        arena,
        pilot(plan(config, arena)),
        writer,
        live.layout,
        seed=config.seed,
        skill_period=config.skill.skill_period,
        disc=disc,
        home=None if disc is None else guide(live.homing, engine.spec, disc),
        longest=live.homing_time,
        riser=Riser(engine.spec, live.get_up),
    )


def main(folder: Path) -> int:
    """Act until told to end; the gate sees to the robot when we are gone."""
    ending = child.Ending()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # one robot: a GPU would only be late
    from ursa.live.pilot import Pilot
    from ursa.run.compiled import keep_programs

    keep_programs()
    live = settings.read(folder)
    spec, tick = robots.robot(live.robot), live.gate_limits().period
    with ExitStack() as stack:

        def entered(thing: Any) -> Any:
            return stack.enter_context(closing(thing))

        beating = entered(pulse.Pulse(folder, "actor"))
        ear, mouth = entered(mailbox.Listener(folder)), entered(mailbox.Wisher(folder))
        clock = entered(open_clock(live.clock, "actor"))
        engine = Wired(spec, tick, ear, mouth, clock)

        def wait(ready: Callable[[], bool]) -> bool:
            """Until another process has done something; time stands still if it can."""
            while not ready() and not ending.asked:
                beating.beat(0, waiting="for another process")
                engine.idle()
                time.sleep(APART)
            return not ending.asked

        path = store.ring_of(folder)
        if not wait(lambda: path.exists() and engine.told is not None and bool(engine.told.state)):
            return 0
        writer = entered(ring.Writer(path))
        actor = joined(folder, live, engine, lambda plan: entered(Pilot(plan, folder)), writer)
        actor.pilot.start()
        pace = entered(Pace(folder, live, place.config_of(folder).train.prefill))
        while not ending.asked:
            while pace.ahead(writer.tail()) and not ending.asked:
                clock.alive()
                beating.beat(writer.next, waiting="for the learner", **said(actor))
                time.sleep(APART / 10)
            actor.turn()
            beating.beat(writer.next, **said(actor))
    return 0


def said(actor: Actor) -> dict[str, int | str]:
    """What the actor shows of itself."""
    told, known = actor.engine.told, actor.pilot.known
    return {
        "mode": "" if told is None else told.mode.value,
        "policy": 0 if known is None else known.version,
        "refused_policies": actor.pilot.refused,
        "homings": actor.homing.count,
        "outs": actor.homing.outs,
        "rises": actor.riser.count,
        "waited": actor.engine.waited,
        "asks": actor.asks,
        **actor.counts,
    }


if __name__ == "__main__":
    child.enter(main)
