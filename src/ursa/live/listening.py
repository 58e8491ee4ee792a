"""Listening: a robot is heard and not moved, for `ursa robot train --dry-run`. No JAX.

A robot answers whoever sends it commands, so it is sent the limp one, as before every start and at
every end: position loop off, no torque, damping only. No other command leaves from here.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

from ursa.errors import UserError
from ursa.gate import health
from ursa.gate.limits import Limits
from ursa.gate.link import Link, address
from ursa.gate.remote import in_touch, stop_pressed
from ursa.gate.wire import SERVO, Command, State
from ursa.live.settings import Live
from ursa.robot.reading import up_of
from ursa.shared.clock import open_clock

SECONDS, EVERY = 5.0, 1.0  # in which it is heard, and between two lines about it
MORE = 1.0  # s for one that is silent just at the end: a gap there counts as one before


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What came from the robot since an instant."""

    since: float
    states: int = 0
    longest: float = 0.0  # s between two states
    time: float | None = None  # of the last one


def listen(live: Live, say: Callable[[str], None], seconds: float = SECONDS) -> int:
    """Hear a robot that is reserved for us, and tell what it says; UserError if it is silent.

    When the time is over is chance: one that was heard, and is not in that instant, is waited for.
    """
    limits = live.gate_limits()
    state, fit = None, health.healthy(limits.spec.action_size)
    with (
        Link(address(live.link), limits.limp) as link,
        closing(open_clock(live.clock, "gate")) as clock,
    ):
        now = begun = clock.now()
        whole = lately = Heard(since=begun)
        end = begun + seconds
        while now < end or (now < end + MORE and whole.states and silent(limits, whole, now)):
            link.send(command(limits))
            now = clock.wait(now + limits.period)
            packet = link.receive()
            if isinstance(packet, State):
                state, lately, whole = packet, heard(lately, now), heard(whole, now)
                fit = health.examine(limits, now, packet, fit)
            if now - lately.since >= EVERY:
                say(line(lately, now, state))
                lately = Heard(since=now, time=lately.time)
        counts = link.counts
    if state is None or silent(limits, whole, now):
        raise UserError(f"link {live.link}: {unheard(whole, now, counts)}")
    for each in (
        *joints(limits, state),
        *doubts(limits, now, state, fit),
        *noise(limits, counts, whole.longest),
    ):
        say(each)
    sent = counts["sent"]
    say(f"dry run: {sent:,} limp commands were sent and nothing else; no joint was driven")
    return 0


def command(limits: Limits) -> Command:
    """All that a robot is ever told here."""
    return limits.limp


def heard(before: Heard, now: float) -> Heard:
    """The same, and one state more."""
    gap = 0.0 if before.time is None else now - before.time
    return replace(before, states=before.states + 1, longest=max(before.longest, gap), time=now)


def silent(limits: Limits, so_far: Heard, now: float) -> bool:
    """Whether a gate would have given it up by now."""
    return so_far.time is None or now - so_far.time > limits.stale_stop


def unheard(whole: Heard, now: float, counts: Mapping[str, int]) -> str:
    """What to say of a robot that is silent: always, or since when."""
    told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    if whole.time is None:
        return (
            f"the robot is silent ({told}); is it switched on, in low-level mode, and the cable in?"
        )
    return (
        f"the robot fell silent {now - whole.time:.1f} s before the end; {whole.states:,} states "
        f"before ({told}); is the cable loose, or was the robot switched off?"
    )


def line(lately: Heard, now: float, state: State | None) -> str:
    """What was heard in a second, in one line."""
    if not lately.states or state is None:
        return "nothing was heard from the robot"
    battery = "not told" if state.battery is None else f"{state.battery:.0%}"
    remote = "in touch" if in_touch(state.remote) else "not in touch"
    pressed = ", STOP PRESSED" if stop_pressed(state.remote) else ""
    return (
        f"{lately.states / (now - lately.since):.0f} states a second, longest gap "
        f"{1000 * lately.longest:.0f} ms; tilt {tilt(state):.0f} degrees; motors "
        f"{state.temperature.min():.0f} to {state.temperature.max():.0f} C; battery {battery}; "
        f"remote {remote}{pressed}"
    )


def tilt(state: State) -> float:
    """Degrees from upright."""
    return math.degrees(math.acos(min(1.0, max(-1.0, float(up_of(state.quaternion)[2])))))


def joints(limits: Limits, state: State) -> list[str]:
    """Where each joint is, a line a leg."""
    names, told = limits.spec.joint_names, []
    for leg in limits.spec.legs:
        mine = [index for index, name in enumerate(names) if name.startswith(f"{leg.name}.")]
        parts = (
            f"{names[index].partition('.')[2]} {state.angle[index]:+.2f} rad "
            f"{state.temperature[index]:.0f} C"
            for index in mine
        )
        told.append(f"{leg.name}: " + ", ".join(parts))
    return told


def doubts(limits: Limits, now: float, state: State, fit: health.Health) -> list[str]:
    """What would keep a run from standing up."""
    names = limits.spec.joint_names
    lazy = [name for name, mode in zip(names, state.mode, strict=True) if mode != SERVO]
    why = health.unfit(limits, now, state, fit)
    found = [f"it would not stand up now: {why}"] if why else []
    return found + ([f"motors that do not serve: {', '.join(lazy)}"] if lazy else [])


def noise(limits: Limits, counts: Mapping[str, int], gap: float) -> list[str]:
    """What is wrong with the way to the robot."""
    found, bad = [], sum(count for what, count in counts.items() if what.startswith("bad "))
    if gap > limits.stale_hold:
        found.append(
            f"states came up to {1000 * gap:.0f} ms apart: the gate holds the robot after "
            f"{1000 * limits.stale_hold:.0f} ms and lets it go limp after "
            f"{1000 * limits.stale_stop:.0f}; is this computer busy, or the cable bad?"
        )
    return found + ([f"{bad:,} packets were damaged, or cannot be true"] if bad else [])
