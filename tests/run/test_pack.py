"""`runs/pack.py`: what a run brings home from a machine that is only lent."""

import importlib.util
import tarfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from evaluate.born import born
from runs import TWO, arrays
from ursa import Agent
from ursa.errors import UserError
from ursa.evaluate.curve import learnt
from ursa.journal import Journal
from ursa.run import publish

pytestmark = pytest.mark.usefixtures("quick")
RUNS = Path(__file__).parents[2] / "runs"


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location("pack", RUNS / "pack.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unpacked(archives, place):
    for archive in archives:
        with tarfile.open(archive) as opened:
            opened.extractall(place, filter="data")
    return place


def test_what_comes_home_is_the_same_agent_in_16_bits(program, point, tmp_path):
    home = unpacked(program.pack(point, tmp_path / "packed"), tmp_path / "home")
    file = "agent/seed_0/agent.safetensors"
    assert publish.halved(home / file)
    whole, cut = arrays(point / file), arrays(home / file)
    assert whole.keys() == cut.keys()
    for name, array in whole.items():
        if array.dtype == np.float32:  # 8 bits of mantissa: half a unit of the last is 2 ** -9
            back = (cut[name].astype(np.uint32) << 16).view(np.float32)
            np.testing.assert_allclose(back, array, rtol=2**-8, atol=0)
        else:
            np.testing.assert_array_equal(cut[name], array)
    agent, other = Agent.load(home), Agent.load(point)
    assert (agent.config, agent.steps, agent.seed) == (other.config, 640, 0)
    np.testing.assert_array_equal(agent.skills, other.skills)
    for name in ("config.json", "metrics.jsonl", "environment.json"):
        assert (home / name).read_bytes() == (point / name).read_bytes()


def test_every_seed_brings_its_own_diary(program, tmp_path):
    run = born(TWO, tmp_path / "run")
    for name in ("config.json", "environment.json"):
        (run / name).write_bytes((run / "agent" / "config.json").read_bytes())
    with Journal(run, seeds=2, first=0, tensorboard=False) as journal:
        journal.write(640, {"robot/reward": [3.0, 4.0]})
    archives = program.pack(run, tmp_path / "packed", [1])
    home = unpacked(archives, tmp_path / "home")
    found = learnt(home, 1, 2)
    assert found is not None
    assert (found.steps.tolist(), found.mean.tolist()) == ([640.0], [4.0])
    assert learnt(home, 0, 2) is None  # was not asked for


def test_an_agent_that_is_not_at_the_end_stays_where_it_is(program, point, tmp_path):
    run = unpacked(program.pack(point, tmp_path / "packed"), tmp_path / "run")
    file = run / "agent" / "seed_0" / "agent.safetensors"
    early = {**publish.FORMAT, "steps": "512"}
    file.write_bytes(safetensors.numpy.save(arrays(file), metadata=early))
    with pytest.raises(UserError, match="512 of 640 steps"):
        program.pack(run, tmp_path / "again")
    assert not (tmp_path / "again").exists()
