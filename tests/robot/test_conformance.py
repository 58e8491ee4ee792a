"""Our four bodies keep the contract, and a body that breaks a promise is found out."""

import importlib.util
from collections.abc import Sequence
from dataclasses import replace
from itertools import count as counter

import numpy as np
import pytest

from ursa.cli import main
from ursa.errors import UserError
from ursa.robot.conformance import check, checks, failures, maker
from ursa.robot.contract import CONTRACT
from ursa.robot.point import PointBody
from ursa.robot.reading import Reading

NO_BULLET = importlib.util.find_spec("pybullet") is None


@pytest.mark.parametrize(
    "target",
    [
        "a1",
        "go2",
        "a1@solid",
        "point",
        pytest.param(
            "a1@pybullet",
            marks=pytest.mark.skipif(NO_BULLET, reason="PyBullet is not installed: make setup"),
        ),
    ],
)
def test_our_bodies_keep_every_promise(target: str):
    assert [str(result) for result in failures(maker(target))] == []


class Miscounts(PointBody):
    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = max(count, 2)
        super().__init__(self.count)


class Halves(PointBody):
    """Gives single precision."""

    def _reading(self) -> Reading:
        reading = super()._reading()
        return replace(reading, joint_angle=reading.joint_angle.astype(np.float32))


class Stretches(PointBody):
    """Its quaternions grow."""

    def _reading(self) -> Reading:
        reading = super()._reading()
        return replace(reading, quaternion=1.1 * reading.quaternion)


class Drifts(PointBody):
    """It is still moving when it was set down."""

    def rest(self, which=None) -> Reading:
        super().rest(which)
        marked = np.ones(self.count, bool) if which is None else which
        self._now = replace(self._now, velocity=np.where(marked[:, None], 0.2, self._now.velocity))
        return self._reading()


class Gambles(PointBody):
    """Every body has its own chance."""

    seeds = counter()

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.chance = np.random.default_rng(next(self.seeds))

    def step(self, action) -> Reading:
        return super().step(action + 1e-9 * self.chance.uniform(size=action.shape))


class Flocks(PointBody):
    """Every robot is pulled along by the others."""

    def step(self, action) -> Reading:
        return super().step(0.9 * action + 0.1 * action.mean(axis=0))


class Swallows(PointBody):
    """Takes NaN for 0."""

    def step(self, action) -> Reading:
        return super().step(np.nan_to_num(action))


class Moves(PointBody):
    """Refuses NaN after it has moved."""

    def step(self, action) -> Reading:
        if np.isnan(action).any():
            super().step(np.nan_to_num(action))
        return super().step(action)


class Overdoes(PointBody):
    """Shrinks an action beyond the bounds as a whole, in place of clipping it."""

    def step(self, action) -> Reading:
        return super().step(action / np.maximum(1.0, np.abs(action).max(initial=1.0)))


class Forgets(PointBody):
    """Restores where it was but not how fast it went."""

    def restore(self, state) -> Reading:
        return super().restore({**state, "velocity": 0.0 * state["velocity"]})


class Shows(PointBody):
    """Returns live views: there is one reading, and it is always the newest."""

    kept: Reading | None = None

    def _reading(self) -> Reading:
        fresh = super()._reading()
        if self.kept is None:
            self.kept = fresh
        self.kept.joint_angle[...] = fresh.joint_angle
        return replace(fresh, joint_angle=self.kept.joint_angle)


class Trusts(PointBody):
    """Hands out its own memory."""

    def _reading(self) -> Reading:
        return replace(super()._reading(), joint_speed=self._now.velocity)


class Infects(PointBody):
    """Damage spreads to the neighbours."""

    def damage(self, damages: Sequence, which=None) -> None:
        super().damage(damages)


class Scars(PointBody):
    """Cannot be repaired."""

    def damage(self, damages: Sequence, which=None) -> None:
        if damages:
            super().damage(damages, which)


class Boasts(PointBody):
    """Says that a frozen axis was told what the policy wanted."""

    def step(self, action) -> Reading:
        return replace(super().step(action), command=np.clip(action, -1.0, 1.0))


class Teleports(PointBody):
    """Jumps home when it is too far away, and tells nobody."""

    def step(self, action) -> Reading:
        super().step(action)
        far = np.abs(self._now.position) > 0.3
        self._now = replace(self._now, position=np.where(far, 0.0, self._now.position))
        return self._reading()


class RestsAll(PointBody):
    def rest(self, which=None) -> Reading:
        return super().rest()


class CarriesAll(PointBody):
    def carry(self, which) -> Reading:
        return super().carry(np.ones(self.count, bool))


class Rewinds(PointBody):
    """Turns the wheels back while it is carried."""

    def carry(self, which) -> Reading:
        super().carry(which)
        self._now = replace(self._now, angle=np.where(which[:, None], 0.0, self._now.angle))
        return self._reading()


SABOTEURS = {
    Miscounts: "names itself",
    Halves: "reads well",
    Stretches: "is physical",
    Drifts: "rests still",
    Gambles: "is deterministic",
    Flocks: "is independent",
    Swallows: "refuses nonsense",
    Moves: "refuses nonsense",
    Overdoes: "clips actions",
    Forgets: "repeats from save",
    Shows: "keeps readings",
    Trusts: "keeps readings",
    Infects: "suffers alone",
    Scars: "suffers alone",
    Boasts: "suffers alone",
    Teleports: "never teleports",
    RestsAll: "rests some",
    CarriesAll: "carries some",
    Rewinds: "carries some",
}


@pytest.mark.parametrize("saboteur", SABOTEURS, ids=lambda it: it.__name__)
def test_a_body_that_breaks_a_promise_is_found_out(saboteur: type[PointBody]):
    assert SABOTEURS[saboteur] in [result.name for result in failures(saboteur)]


def test_every_promise_can_be_broken():
    names = {promise.__name__.replace("_", " ") for promise in CONTRACT}
    assert names == set(SABOTEURS.values())


def test_the_reason_names_what_was_seen():
    reasons = {result.name: result.reason for result in failures(Infects)}
    assert "frozen damage of robot 2: step 0:" in reasons["suffers alone"]
    assert "of robot 0 differs by" in reasons["suffers alone"]


def test_a_body_that_raises_fails_its_checks_and_not_the_suite():
    def make(count: int):
        raise RuntimeError("no power")

    results = checks(make)
    assert len(results) == len(CONTRACT)
    assert {result.reason for result in results} == {"raised RuntimeError: no power"}


def test_a_body_need_not_be_exact_if_it_says_so():
    class Rounds(PointBody):
        """Saves its velocity in single precision."""

        def save(self):
            exact = super().save()
            return exact | {"velocity": exact["velocity"].astype(np.float32).astype(float)}

    class Confesses(Rounds):
        exact = False

    assert [result.name for result in failures(Rounds)] == ["repeats from save"]
    assert failures(Confesses) == []


def test_the_command_tells_each_promise_and_its_exit_code_the_whole(capsys):
    assert check("point") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("ok  ")]) == len(CONTRACT)
    assert lines[-1] == f"point: {len(CONTRACT)} of {len(CONTRACT)} promises kept"
    assert main(["robot", "check", f"{__name__}:Forgets", "--count", "2"]) == 1
    assert "FAIL  repeats from save" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "answer"),
    [
        ("a9", r'unknown robot "a9": valid are a1, go2, point'),
        ("a1@unreal", r'unknown engine "unreal": valid are mujoco, pybullet'),
        ("nowhere.at_all:Body", r'"nowhere\.at_all:Body"'),
        (f"{__name__}:Nobody", "Nobody"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_ones(target: str, answer: str, capsys):
    with pytest.raises(UserError, match=answer):
        check(target)
    assert main(["robot", "check", target]) == 2


def test_one_robot_has_nobody_to_disturb():
    with pytest.raises(UserError, match="at least 2"):
        checks(PointBody, count=1)
