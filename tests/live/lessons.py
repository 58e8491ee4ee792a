"""A learner for tests: a tiny run on a point, and a log whose rows follow from their numbers."""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from ursa import checkpoint, durable
from ursa.gate import mailbox
from ursa.live.learning import Learning
from ursa.live.settings import Live
from ursa.live.student import Student, alone
from ursa.log.ledger import Ledger
from ursa.log.record import Layout, pack
from ursa.run.settings import configure
from ursa.shared import pulse
from ursa.types import Row, Sizes

SIZES, SKILL = Sizes(observation=7, action=2, posture=2), 2
LAYOUT = Layout(sizes=SIZES, skill=SKILL)
CONFIG = alone(
    configure(
        "tiny",
        {
            "robot": "point",
            "task": "point",
            "skill": {"feature": "vae", "vae_rows": 32},
            "train": {"prefill": 32, "log_every": 40, "patience": 6},
        },
    )
)
LIVE = Live(
    observation=SIZES.observation,
    action=SIZES.action,
    posture=SIZES.posture,
    skill=SKILL,
    ratio_most=0.5,
    publish=4,
)


def begin(folder: Path) -> Path:
    """The folder of a run that has not learnt yet."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_bytes(durable.to_json(asdict(CONFIG)))
    mailbox.create(folder)
    for role in ("gate", "actor", "recorder", "learner"):
        pulse.create(folder, role)
    return folder


def lived(number: int, **changes) -> bytes:
    """A step whose contents follow from its number; a few of them begin a sequence."""
    rng = np.random.default_rng([7, number])
    posture = rng.uniform(-0.9, 0.9, (1, SIZES.posture)).astype(np.float32)
    values = {
        "observation": rng.normal(size=(1, SIZES.observation)).astype(np.float32),
        "action": rng.uniform(-1, 1, (1, SIZES.action)).astype(np.float32),
        "reward": rng.uniform(0, 1, 1).astype(np.float32),
        "cost": np.full(1, -0.5, np.float32),
        "posture": posture,
        "safe": np.array([True]),
        "first": np.array([number % 50 == 0]),
    }
    marks, age = changes.pop("marks", 0), changes.pop("age", 0)
    row = Row(**{**values, **changes})
    skill = np.zeros(SKILL, np.float32)
    return pack(LAYOUT, row, skill=skill, policy=1, time=number, marks=marks, age=age)


class Recording:
    """The recorder's part: steps that are on disk."""

    def __init__(self, folder: Path) -> None:
        self._ledger = Ledger(folder, LAYOUT.kind)

    def add(self, count: int, **changes) -> None:
        end = self._ledger.end
        self._ledger.commit(end, [lived(n, **changes) for n in range(end, end + count)])

    def gap(self, to: int) -> None:
        self._ledger.leave_gap(to)

    def close(self) -> None:
        self._ledger.close()


def leaves(student: Student) -> dict[str, np.ndarray]:
    """Everything a student is, by name, the replay included."""
    tree = {**student.tree(), "ring": vars(student.learner.ring)}
    return checkpoint._on_host(checkpoint._named(tree))


def differing(one: dict[str, np.ndarray], two: dict[str, np.ndarray]) -> list[str]:
    """Names of leaves that are not the same to the last bit."""
    return [
        name
        for name in sorted(one.keys() | two.keys())
        if name not in one or name not in two or one[name].tobytes() != two[name].tobytes()
    ]


def drained(learning: Learning) -> int:
    """Rounds until there is nothing to do."""
    count = 0
    while learning.turn():
        count += 1
    return count


def faster(**changes) -> Live:
    return replace(LIVE, **changes)
