"""Farewell: the limp command for a robot whose gate is dead, from whoever is left to send it."""

import time
from collections.abc import Callable

from ursa.errors import UserError
from ursa.gate.limits import Limits
from ursa.gate.link import Address, Link
from ursa.gate.wire import State

CYCLES = 50  # a tenth of a second: some get through, also on a bad cable


def send(robot: Address, limits: Limits, sleep: Callable[[float], None] = time.sleep) -> str:
    """Tell a robot to go limp, as often as a gate would; in words, what came of it.

    Through the gate's own link: refused while a gate lives, and limp is the last word here, too.
    """
    answers = 0
    try:
        with Link(robot, limits.limp) as link:
            for _ in range(CYCLES):
                link.send(limits.limp)
                sleep(limits.period)
                answers += isinstance(link.receive(), State)
    except UserError as error:
        return f"the limp command could not be sent: {error}"
    sent = link.counts["sent"]
    if not sent:
        return "the limp command could not be sent: no way to the robot"
    return f"{sent} limp commands were sent in its place, and the robot answered {answers}"
