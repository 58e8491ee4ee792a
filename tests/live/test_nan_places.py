"""A number that is none, put anywhere into the learner, reaches nobody outside it, and passes.

Neither what is published, nor a checkpoint, nor the agent's files, nor the repertoire, nor what the
actor wishes ever holds it; the updates it spoils leave no trace and are counted.
"""

import shutil

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from live.lessons import LIVE, Recording, begin, differing, drained, leaves
from runs import quickly
from ursa import checkpoint
from ursa.errors import UserError
from ursa.live import snapshot, student
from ursa.live.learning import Learning
from ursa.live.pilot import Pilot
from ursa.live.snapshot import memory
from ursa.shared import handover
from ursa.shared.handover import Subscriber


@pytest.fixture(scope="module", autouse=True)
def quick():
    with quickly():
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run with a checkpoint."""
    folder = begin(tmp_path_factory.mktemp("nan") / "run")
    recording = Recording(folder)
    recording.add(64)
    learning = Learning(folder, LIVE)
    drained(learning)
    assert learning.save()
    learning.close()
    recording.close()
    return folder


@pytest.fixture
def lesson(run, tmp_path):
    """A learner in the middle of that run, and who records for it."""
    folder = tmp_path / "run"
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("identity"))
    begin(folder)
    recording, learning = Recording(folder), Learning(folder, LIVE)
    yield learning, recording
    learning.close()
    recording.close()


ONE, ALL = slice(1), slice(None)
# Which numbers of a part are none: of which of its float arrays, and which of those.
PATTERNS = {"one": (ONE, ONE), "one of every array": (ALL, ONE), "all": (ALL, ALL)}
ROW = (0, 0, 5)  # of the replay: an early one
# Where: a part of the learner, and what of its arrays.
PLACES = {
    "batch: observation": (lambda it: it.ring.observation, ROW),
    "batch: reward": (lambda it: it.ring.reward, ROW),
    "batch: cost": (lambda it: it.ring.cost, ROW),
    "world model": (lambda it: it.agent.world, ()),
    "actor": (lambda it: it.agent.actor, ()),
    "critics": (lambda it: it.agent.critics, ()),
    "slow critics, and so the returns": (lambda it: it.agent.slow, ()),
    "multipliers": (lambda it: it.agent.multipliers, ()),
    "moments of the world's optimizer": (lambda it: it.agent.optimizers.world, ()),
    "moments of the actor's optimizer": (lambda it: it.agent.optimizers.actor, ()),
    "scale of the returns": (lambda it: it.agent.scales, ()),
    "entropy weight": (lambda it: it.agent.entropy_weight, ()),
    "weight of the KL term": (lambda it: it.agent.kl_scale, ()),
    "feature map": (lambda it: it.law.feature.parameters.vae.encoder, ()),
    "moments of the feature map": (lambda it: it.law.feature.parameters.moments, ()),
    "repertoire: features": (lambda it: it.law.repertoire.skill, ()),
    "repertoire: postures": (lambda it: it.law.repertoire.posture, ()),
    "covariance": (lambda it: it.law.repertoire.spread.factor, ()),
    "threshold": (lambda it: it.law.repertoire.delta, ()),
}


def spoilt(tree, at, pattern):
    """A tree with numbers in it that are none."""
    which, numbers = PATTERNS[pattern]
    arrays, shape = jax.tree.flatten(tree)
    floats = [
        n for n, it in enumerate(arrays) if it.size and jnp.issubdtype(it.dtype, jnp.floating)
    ]
    for n in floats[which]:
        array = np.array(arrays[n])
        array[(*at, ...)].flat[numbers] = np.nan
        arrays[n] = jnp.asarray(array)
    return jax.tree.unflatten(shape, arrays)


def inject(learning, name, pattern="one"):
    where, at = PLACES[name]
    pupil = learning.student
    pupil.learner = eqx.tree_at(where, pupil.learner, spoilt(where(pupil.learner), at, pattern))


def leaked(learning):
    """Every place outside the learner that holds a number which is none, or infinite where it
    must not be: only a repertoire says "none" that way."""
    folder, found = learning.folder, []

    def look(name, arrays, infinite=True):
        for key, array in arrays.items():
            good = np.isfinite if infinite or ".agent" in key else lambda it: ~np.isnan(it)
            if array.dtype.kind == "f" and not good(array).all():
                found.append(f"{name}: {key}")

    reader = Subscriber(memory(folder))
    for place in range(handover.PLACES):
        copied = reader.copied(place)
        if copied is not None:  # the bytes themselves: a reader would refuse them
            look("published", safetensors.numpy.load(copied[1]))
    reader.close()
    for path in checkpoint.stored(folder / "checkpoints"):
        arrays = safetensors.numpy.load((path / "arrays.safetensors").read_bytes())
        look(path.name, arrays, infinite=False)
    for path in (folder / "agent").rglob("*.safetensors"):
        look("agent", safetensors.numpy.load(path.read_bytes()))
    for path in (folder / "agent").rglob("*.npz"):
        with np.load(path) as arrays:
            look("repertoire", dict(arrays), infinite=False)
    return found


def goes_on(learning, recording, rounds=2):
    """Let the robot walk on, look outside after every round, save when it can be saved."""
    found, saved = [], False
    for _ in range(rounds):
        recording.add(12)
        while learning.turn():
            found += leaked(learning)
        saved |= learning.save()
        found += leaked(learning)
    return found, saved


@pytest.mark.parametrize("name", PLACES)
def test_it_reaches_nobody_and_passes(lesson, name):
    """In each pattern, one after the other: it can happen again."""
    learning, recording = lesson
    pupil = learning.student
    for pattern in PATTERNS:
        before = pupil.updates
        inject(learning, name, pattern)
        found, saved = goes_on(learning, recording)
        assert found == [], pattern
        assert saved, pattern
        assert pupil.updates == before + 12  # 24 rows, half an update each: nothing waits for it
        if not name.startswith("batch"):
            assert student._spoilt(jax.device_get(pupil.learner.law)) is False
            assert pupil.trouble.failures.tolist() == [0]
    acting = Pilot(pupil.plan, learning.folder)
    assert acting.look()
    acting.take()
    observation = np.ones((1, LIVE.observation), np.float32)
    assert np.isfinite(acting.act(observation, True, acting.known.skills[0], 1)).all()
    acting.close()


def test_a_spoilt_update_leaves_no_trace_but_its_count(lesson):
    learning, _ = lesson
    pupil = learning.student
    inject(learning, "slow critics, and so the returns")
    before = leaves(pupil)
    pupil.round(None, pupil.seen, 1)
    changed = differing(before, leaves(pupil))
    assert {name for name in changed if "agent" in name or "ring" in name} == {
        "['learner'].agent.dropped"
    }
    assert pupil.trouble.failures.tolist() == [1]


def test_after_failing_again_and_again_the_agent_is_that_of_the_last_checkpoint(lesson):
    learning, _ = lesson
    pupil = learning.student
    good = leaves(pupil)
    inject(learning, "moments of the world's optimizer")
    pupil.round(None, pupil.seen, 5)
    assert pupil.trouble.failures.tolist() == [5]
    assert not pupil.rest()  # not the state to go back to
    pupil.round(None, pupil.seen, 1)  # the sixth: patience is over
    assert pupil.trouble.rollbacks.tolist() == [1]
    agent = [name for name in differing(good, leaves(pupil)) if "agent" in name]
    assert agent == []
    assert "['learner'].key" in differing(good, leaves(pupil))  # other chance


def failing(pupil, rounds):
    for _ in range(rounds):
        pupil.round(None, pupil.seen, 1)


def test_a_learner_that_nothing_helps_says_so(lesson):
    learning, _ = lesson
    pupil = learning.student
    inject(learning, "moments of the world's optimizer")
    pupil._good = pupil._held()  # sabotage: what it goes back to is spoilt, too
    with pytest.raises(UserError, match="going back did not help; the log is whole"):
        failing(pupil, 30)


def test_a_draw_of_skills_that_is_none_is_not_published(lesson, monkeypatch):
    learning, recording = lesson
    drawing = snapshot._drawing

    def spoilt(plan):
        return lambda *words: drawing(plan)(*words) * jnp.nan

    monkeypatch.setattr(snapshot, "_drawing", spoilt)
    newest = learning._publisher.newest
    recording.add(16)
    drained(learning)
    assert learning.unpublished == 2
    assert learning._publisher.newest == newest
    assert leaked(learning) == []


def test_metrics_that_are_none_become_null_in_the_lines(lesson):
    learning, recording = lesson
    inject(learning, "slow critics, and so the returns")
    recording.add(16)
    drained(learning)
    learning._line()
    text = (learning.folder / "metrics.jsonl").read_text()
    assert "NaN" not in text
    assert '"nonfinite"' in text


def test_an_actor_keeps_its_policy_when_a_spoilt_one_is_published(lesson, monkeypatch):
    learning, recording = lesson
    pilot = Pilot(learning.student.plan, learning.folder)
    recording.add(16)
    drained(learning)
    assert pilot.look()
    pilot.take()
    good, sound = pilot.known, learning.student.learner
    inject(learning, "actor")
    monkeypatch.setattr(handover, "unsound", lambda arrays: "")  # the learner's own check is off
    version = learning._publisher.newest + 1
    learning._publisher.publish(version, snapshot.arrays_of(learning.student, version))
    monkeypatch.undo()
    assert leaked(learning)  # it is out
    for _ in range(3):
        assert not pilot.look()
        pilot.take()
    assert pilot.known is good
    assert pilot.refused == 1  # once, however often one looks
    learning.student.learner = sound
    learning._publisher.publish(version + 1, snapshot.arrays_of(learning.student, version + 1))
    assert pilot.look()
    pilot.take()
    assert pilot.known.version == version + 1
    pilot.close()


# ---- sabotage: without a protection, the same checks fail ---------------------------------------


def test_without_the_check_before_publishing_it_gets_out(lesson, monkeypatch):
    learning, recording = lesson
    monkeypatch.setattr(handover, "unsound", lambda arrays: "")
    inject(learning, "actor")
    recording.add(16)
    learning.turn()
    assert any(name.startswith("published") for name in leaked(learning))


def test_without_the_check_before_a_checkpoint_it_is_kept(lesson, monkeypatch):
    learning, recording = lesson
    monkeypatch.setattr(student, "unsound", lambda tree: "")
    monkeypatch.setattr(type(learning.student.trouble), "pending", lambda self: False)
    inject(learning, "moments of the world's optimizer")
    recording.add(8)
    learning.turn()
    assert learning.save()
    assert any(name.startswith("step_") for name in leaked(learning))


def test_without_the_look_at_the_corridor_the_repertoire_stays_spoilt(lesson, monkeypatch):
    learning, recording = lesson
    monkeypatch.setattr(student, "_has_nan", lambda law: False)
    inject(learning, "feature map")
    recording.add(16)
    learning.turn()
    assert student._spoilt(jax.device_get(learning.student.learner.law))


def test_without_the_actors_own_check_a_spoilt_policy_is_taken(lesson, monkeypatch):
    learning, _ = lesson
    inject(learning, "actor")
    monkeypatch.setattr(handover, "unsound", lambda arrays: "")
    version = learning._publisher.newest + 1
    learning._publisher.publish(version, snapshot.arrays_of(learning.student, version))
    pilot = Pilot(learning.student.plan, learning.folder)
    assert pilot.look()
    pilot.take()
    observation = np.ones((1, LIVE.observation), np.float32)
    assert pilot.act(observation, True, pilot.known.skills[0], 1) is None  # the last wall stands
    assert pilot.refused == 1
    pilot.close()
