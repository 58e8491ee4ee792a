"""`ursa robot learn`: the learner of a robot that is on another machine. No JAX here."""

import logging
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from ursa.channel import channel as channels
from ursa.channel import secret
from ursa.claim import Claim
from ursa.live import orphans
from ursa.live.desk import Desk
from ursa.live.replica import Replica
from ursa.live.ward import Ward
from ursa.run import folder as place
from ursa.run import stop
from ursa.shared import place as memory

LOOK = 0.05  # s between two looks at the learner when the robot is silent
DONE, GAVE_UP = 0, 1
Say = Callable[[str], None]


def learn(
    out: Path,
    listen: Annotated[str, arg(metavar="HOST:PORT")] = f"127.0.0.1:{channels.PORT}",
    exposed: bool = False,
) -> int:
    """Learn on this machine for a robot on another, which runs `ursa robot train --learner ...`.

    The robot's machine keeps the log; this one gets a copy of every row, learns, and sends policies
    back. Either side may be stopped, killed or cut off at any time and started again with the same
    command. What is said is authenticated with the key in OUT/learner.key, not encrypted: to reach
    another machine, tunnel through SSH (docs/robot.md, Two machines). Ctrl-C saves and ends.

    Args:
        out: folder of the copy; given again it goes on
        listen: where the robot calls
        exposed: listen on an address that other machines can reach
    """
    address = channels.tcp(listen)
    channels.refuse_exposed(address, exposed)
    logging.basicConfig(format="ursa: %(message)s")
    logging.getLogger("ursa").setLevel(logging.INFO)
    with ExitStack() as stack:
        stack.enter_context(closing(Claim(out / place.LOCK, out)))
        key = secret.make(out / secret.NAME)
        memory.sweep(out)
        replica = stack.enter_context(closing(Replica(out)))
        door = stack.enter_context(closing(channels.Door(address, key)))
        desk = stack.enter_context(closing(Desk(door, replica)))
        asked = stack.enter_context(stop.on_signal())
        _say(
            f"waiting for the robot at {door.address[0]}:{door.address[1]}, copy in {out}; the "
            f"robot's machine needs {out / secret.NAME} (scp -p)"
        )
        return serve(replica, desk, asked, _say)


def serve(replica: Replica, desk: Desk, asked: Callable[[], bool], say: Say) -> int:
    """Hear the robot and look after the learner, until asked to end or it cannot be kept alive."""
    with ExitStack() as stack:
        ward: Ward | None = None
        hopeful = True
        while hopeful and not asked():
            desk.turn(LOOK)
            if ward is None and replica.live is not None:
                orphans.leave(replica.folder, replica.live, say)
                ward = Ward(replica.folder, replica.live, "learner", say, lambda: False)
                stack.callback(ward.close)
            if ward is not None:
                hopeful = ward.look()
        if ward is not None and replica.live is not None:
            _end(ward, replica.live.patience.end, say)
            code = ward.code
        else:
            code = DONE
    if code == DONE and hopeful:
        memory.forget(replica.folder)
    say(f"{replica.end:,} rows; go on with the same command")
    return GAVE_UP if code or not hopeful else DONE


def _end(ward: Ward, patience: float, say: Say) -> None:
    """Let the learner save what it learnt."""
    ward.ask()
    begun = time.monotonic()
    while not ward.ended():
        if time.monotonic() - begun > patience:
            say(f"the learner did not end within {patience:g} s and was killed")
            ward.kill()
            break
        time.sleep(LOOK)


def _say(said: str) -> None:
    print(f"ursa: {said}", flush=True)
