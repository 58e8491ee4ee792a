"""The contract every Body obeys, one small function per promise.

Each takes a `Maker` (count -> Body), and either returns or raises `Broken` with what it saw. The
first line of its docstring is the promise, as `ursa robot check` prints it.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import TypeCheckError

from ursa.errors import UserError
from ursa.robot.body import Body
from ursa.robot.damage import Damage, nominal
from ursa.robot.trial import (
    Maker,
    demand,
    drive,
    equal,
    follow,
    made,
    moments,
    noise,
    only,
    refusal,
    table,
)

FASTEST = 5.0  # m/s: no robot here runs this fast, so a longer way in one step is a teleport
LOOSE = 1e-4  # what may differ after a restore into a body that does not claim to be exact


def names_itself(make: Maker, count: int) -> None:
    """It has every verb of a Body and knows its count."""
    for n in (1, count):
        with made(make, n) as (body,):
            demand(isinstance(body, Body), "a verb or attribute of ursa.robot.body.Body is missing")
            demand(body.count == n, f"asked for {n} robots, count says {body.count}")


def reads_well(make: Maker, count: int) -> None:
    """Every reading has the promised shapes and types, and finite numbers."""
    for n in (1, count):
        with made(make, n) as (body,):
            joints, feet = body.spec.action_size, len(body.spec.legs)
            shapes = dict.fromkeys(("joint_angle", "joint_speed", "torque", "command"), (n, joints))
            shapes |= dict.fromkeys(("gyro", "acceleration", "velocity"), (n, 3))
            shapes |= {"quaternion": (n, 4), "contact": (n, feet), "power": (n,), "height": (n,)}
            shapes |= dict.fromkeys(("truth.position", "truth.velocity"), (n, 3))
            shapes |= {"truth.foot_height": (n, feet)}
            for moment, reading in moments(body):
                demand(reading.spec == body.spec, f"{moment}: the reading carries another spec")
                for name, value in table(reading).items():
                    kind = bool if name == "contact" else np.float64
                    demand(
                        value.shape == shapes[name] and value.dtype == kind,
                        f"{moment}: {name} is {value.dtype}{list(value.shape)}, "
                        f"want {np.dtype(kind)}{list(shapes[name])}",
                    )
                    demand(np.isfinite(value).all(), f"{moment}: {name} is not finite")
            demand(
                body.rescued.shape == (n,) and body.rescued.dtype == bool,
                f"rescued is {body.rescued!r}, want {n} booleans",
            )


def is_physical(make: Maker, count: int) -> None:
    """Quaternions have length 1, commands and torques stay within limits, power is not negative."""
    with made(make, count) as (body,):
        low, high = body.spec.of_joints("lower"), body.spec.of_joints("upper")
        peak = body.spec.of_joints("torque")
        for moment, reading in moments(body):
            length = np.linalg.norm(reading.quaternion, axis=1)
            demand(np.allclose(length, 1.0, atol=1e-6), f"{moment}: quaternion lengths {length}")
            inside = (reading.command >= low - 1e-9) & (reading.command <= high + 1e-9)
            demand(inside.all(), f"{moment}: a command lies outside the joint limits")
            strong = np.abs(reading.torque) <= peak + 1e-9
            demand(strong.all(), f"{moment}: a torque is beyond the motor's peak")
            demand((reading.power >= 0.0).all(), f"{moment}: power {reading.power}")


def rests_still(make: Maker, count: int) -> None:
    """At rest it is still and over the origin, and every rest is the same."""
    with made(make, count) as (body,):
        first = body.rest()
        for name in ("joint_speed", "gyro", "truth.velocity"):
            demand(np.allclose(table(first).get(name, 0.0), 0.0, atol=1e-6), f"{name} is not 0")
        if first.truth is not None:
            here = first.truth.position[:, :2]
            demand(np.allclose(here, 0.0, atol=1e-6), f"set down at {here.tolist()}, not at 0")
        drive(body, noise(body))
        equal(body.rest(), first, "the second rest")


def is_deterministic(make: Maker, count: int) -> None:
    """Two bodies under the same actions give the same bits."""
    with made(make, count, count) as (one, two):
        actions = noise(one)
        follow(drive(one, actions), drive(two, actions))


def is_independent(make: Maker, count: int) -> None:
    """Robot 0 does the same alone and among others, whatever the others do."""
    with made(make, 1, count, count) as (alone, among, beside):
        actions = noise(among)
        other = actions.copy()
        other[:, 1:] = -other[:, 1:]
        single = drive(alone, actions[:, :1])
        follow(single, drive(among, actions), [0])
        follow(single, drive(beside, other), [0])


def refuses_nonsense(make: Maker, count: int) -> None:
    """NaN and wrong shapes are refused, naming robot and joint, and nothing moves."""
    with made(make, count, count) as (body, twin):
        actions = noise(body)
        follow(drive(body, actions[:3]), drive(twin, actions[:3]))
        robot, joint = count - 1, body.spec.action_size - 1
        for wrong in (np.nan, np.inf):
            bad = actions[3].copy()
            bad[robot, joint] = wrong
            message = refusal(body, bad, f"an action of {wrong}")
            for word in (f"robot {robot}", body.spec.joint_names[joint]):
                demand(word in message, f'"{message}" does not name {word}')
        # A type checker that stands before the body (jaxtyping) may be quicker to see a shape.
        quick = (UserError, TypeCheckError)
        refusal(body, actions[3, :, :-1], "an action with a joint too few", quick)
        refusal(body, actions[3, 0], "an action without the axis of robots", quick)
        follow(drive(body, actions[3:]), drive(twin, actions[3:]))


def clips_actions(make: Maker, count: int) -> None:
    """Actions beyond [-1, 1] count as the bound."""
    with made(make, count, count) as (body, twin):
        actions = 3.0 * noise(body)
        follow(drive(body, actions), drive(twin, np.clip(actions, -1.0, 1.0)))


def repeats_from_save(make: Maker, count: int) -> None:
    """A saved state continues as if nothing had happened, also in another body."""
    with made(make, count, count) as (body, other):
        actions = noise(body)
        body.damage([Damage(joint=0, kind="weak", value=0.5)], only(count - 1, count))
        at_save = drive(body, actions[:4])[-1]
        state = body.save()
        kept = {name: np.array(value) for name, value in state.items()}
        onward = drive(body, actions[4:])
        body.damage(())  # restored with the rest of it
        for name, value in kept.items():
            demand(np.array_equal(value, state[name]), f"{name} of a saved state changed later")
        loose = 0.0 if getattr(body, "exact", True) else LOOSE
        for again in (body, other):
            equal(again.restore(kept), at_save, "the restored reading", loose=loose)
            follow(drive(again, actions[4:]), onward, loose=loose)


def keeps_readings(make: Maker, count: int) -> None:
    """A reading does not change when the robot moves on, and writing to it moves no robot."""
    with made(make, count, count) as (body, twin):
        actions = noise(body)
        kept = [body.rest(), *drive(body, actions[:3])]
        notes = [{name: value.copy() for name, value in table(it).items()} for it in kept]
        later = drive(body, actions[3:6])
        body.carry(only(0, count))
        body.rest()
        for step, (reading, note) in enumerate(zip(kept, notes, strict=True)):
            for name, value in table(reading).items():
                still = np.array_equal(value, note[name])
                demand(still, f"{name} of reading {step} changed when the robot moved on")
        drive(twin, actions[:2])
        scratched = drive(twin, actions[2:3])[0]
        for value in table(scratched).values():
            if value.flags.writeable:
                value[...] = 1
        follow(drive(twin, actions[3:6]), later)


def suffers_alone(make: Maker, count: int) -> None:
    """Damage of each kind changes the damaged robot only, and () repairs it."""
    joint = 1
    for kind, value in {"frozen": None, "limp": None, "weak": 0.3, "locked": None}.items():
        with made(make, count, count) as (body, twin):
            actions = noise(body)
            hurt, others = count - 1, list(range(count - 1))
            start = body.rest().joint_angle[hurt, joint]
            body.damage([Damage(joint=joint, kind=kind, value=value)], only(hurt, count))
            broken, sound = drive(body, actions), drive(twin, actions)
            follow(broken, sound, others, f"{kind} damage of robot {hurt}: ")
            last = broken[-1]
            demand(
                not np.array_equal(last.joint_angle[hurt], sound[-1].joint_angle[hurt]),
                f"{kind} damage changes nothing",
            )
            if kind == "frozen":
                told, wanted = last.command[hurt, joint], nominal(body.spec)[joint]
                demand(abs(told - wanted) < 1e-6, f"frozen joint is told {told}, not {wanted}")
            if kind == "limp":
                given = last.torque[hurt, joint]
                demand(abs(given) < 1e-6, f"limp joint gives {given} N m")
            if kind == "locked":
                moved = last.joint_angle[hurt, joint] - start
                demand(abs(moved) < 0.1, f"locked joint moved by {moved} rad")
            body.damage(())
            equal(body.rest(), twin.rest(), f"{kind} damage repaired: rest")
            follow(drive(body, actions), drive(twin, actions), None, f"{kind} damage repaired: ")


def never_teleports(make: Maker, count: int) -> None:
    """Nothing teleports: 100 random steps lead from place to place."""
    with made(make, count) as (body,):
        before = body.rest()
        for step, action in enumerate(noise(body, 100)):
            now = body.step(action)
            if now.truth is None or before.truth is None:
                return
            way = np.linalg.norm(now.truth.position - before.truth.position, axis=1)
            way[body.rescued] = 0.0  # set down again by hand, and said so
            bound = FASTEST * body.spec.period
            demand((way < bound).all(), f"step {step}: moved {way.max():.3f} m in one step")
            before = now


def rests_some(make: Maker, count: int) -> None:
    """Setting some robots down leaves the others where they are, and going on."""
    with made(make, count, count) as (body, twin):
        actions = noise(body)
        start = body.rest()
        before = drive(body, actions[:5])[-1]
        drive(twin, actions[:5])
        after = body.rest(only(0, count))
        equal(after, start, "the robot set down", [0])
        others = list(range(1, count))
        equal(after, before, "a robot not set down", others)
        follow(drive(body, actions[5:]), drive(twin, actions[5:]), others)


def carries_some(make: Maker, count: int) -> None:
    """Carrying moves the marked robots over the origin, joints and tilt as they are."""
    with made(make, count, count) as (body, twin):
        actions = noise(body)
        before = drive(body, actions[:5])[-1]
        drive(twin, actions[:5])
        after = body.carry(only(0, count))
        others = list(range(1, count))
        equal(after, before, "a robot not carried", others)
        for name in ("joint_angle", "joint_speed", "quaternion", "gyro", "truth.velocity"):
            was, is_now = table(before).get(name), table(after).get(name)
            if was is not None and is_now is not None:
                demand(np.allclose(is_now[0], was[0], atol=1e-9), f"{name} changed on the way")
        if after.truth is not None and before.truth is not None:
            x, y, z = after.truth.position[0]
            demand(abs(x) < 1e-9 and abs(y) < 1e-9, f"carried to ({x}, {y}), not to the origin")
            demand(abs(z - before.truth.position[0, 2]) < 1e-9, "the height changed on the way")
        follow(drive(body, actions[5:]), drive(twin, actions[5:]), others)


CONTRACT: tuple[Callable[[Maker, int], None], ...] = (
    names_itself,
    reads_well,
    is_physical,
    rests_still,
    is_deterministic,
    is_independent,
    refuses_nonsense,
    clips_actions,
    repeats_from_save,
    keeps_readings,
    suffers_alone,
    never_teleports,
    rests_some,
    carries_some,
)
