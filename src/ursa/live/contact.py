"""Contact: how long a robot has said nothing, and what to say when that was too long. Pure."""

from dataclasses import dataclass, replace
from pathlib import Path

from ursa.gate.link import Address
from ursa.gate.mailbox import Told
from ursa.live.settings import Live

NOTICE = 10.0  # s of silence, then somebody is told


@dataclass(frozen=True, kw_only=True)
class Contact:
    """When the robot was last there, on both clocks."""

    real: float  # s of real time
    clock: float | None = None  # s of the gate's clock
    heard: float = 0.0  # what the gate said then of the last state it believed


def looked(contact: Contact, real: float, told: Told | None, *, stands: bool) -> Contact:
    """After a look at what the gate told; `stands`: time is virtual and its keeper lives.

    Virtual time may stand still for long while somebody computes: then real time proves nothing,
    and only what the gate's clock says counts.
    """
    if told is not None and (
        contact.clock is None or (told.state is not None and told.heard != contact.heard)
    ):
        return Contact(real=real, clock=told.now, heard=told.heard)
    return replace(contact, real=real) if stands else contact


def silence(contact: Contact, real: float, told: Told | None, *, virtual: bool) -> float:
    """Seconds since the robot was last there; in virtual time on the clock by which it is longer.

    A gate's ordinary clock counts a sleep of the computer, in which no robot could be heard.
    """
    if not virtual or told is None or contact.clock is None:
        return real - contact.real
    return max(real - contact.real, told.now - contact.clock)


def waiting(live: Live, silent: float) -> str:
    """What to say when it has just begun."""
    return (
        f"the robot at {live.link} has said nothing for {silent:.0f} s; the gate goes on asking, "
        f"and the run ends in order after {live.silence:g} s"
    )


def given_up(
    live: Live, robot: Address, folder: Path, silent: float, restarts: int, unsent: int
) -> str:
    """What was tried, for how long, and what to look at."""
    host, port = robot
    lost = f", {unsent} of them could not be sent" if unsent else ""
    return (
        f"the robot at {live.link} has said nothing for {silent:.0f} s, longer than --silence "
        f"{live.silence:g}: giving up. The gate asked {1 / live.gate_limits().period:.0f} times a "
        f"second, with limp commands{lost}, and was started again {restarts} times.\n"
        f"  Look at its power, its battery, its mode (low-level?); cable and switch: ping {host};\n"
        f"  {folder / 'logs' / 'gate.log'} and {folder / 'interventions.jsonl'}. For an emulator:"
        f" does `ursa robot emulate {live.robot} --port {port}` still run?\n"
        "  What is on disk stays there."
    )
