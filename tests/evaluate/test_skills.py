"""Which skills are tried: the most spread out, the most spread out few first, drawn if need be."""

from types import SimpleNamespace

import jaxtyping
import numpy as np
import pytest

from evaluate.born import born
from runs import quickly
from ursa import Agent
from ursa.evaluate.skills import chosen, known, numbers, promised
from ursa.run.settings import configure
from ursa.skill.repertoire import Repertoire
from ursa.watch.skill import numbered


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    place = tmp_path_factory.mktemp("born")
    with quickly():

        def agent(method: str, **options) -> Agent:
            config = configure("tiny", {"robot": "point", "task": "point", "method": method})
            name = f"{method}{options}"
            return Agent.load(born(config, place / name, **options))

        yield agent


def test_skills_are_known_ones_without_repetition_and_begin_with_the_few(agents):
    agent = agents("ursa")
    found = chosen(agent, 20)
    rows = {tuple(row) for row in agent.skills.astype(float).tolist()}
    tried = [tuple(row) for row in found.tolist()]
    assert len(set(tried)) == 20
    assert set(tried) <= rows
    few = {tuple(row) for row in agent.thin(8).astype(float).tolist()}
    assert set(tried[:8]) == few
    assert set(tried) == {tuple(row) for row in agent.thin(20).astype(float).tolist()}


def test_where_too_few_are_known_others_are_drawn(agents):
    agent = agents("ursa", known=5)
    found = chosen(agent, 12)
    assert known(agent) == 5
    assert {tuple(it) for it in found[:5].tolist()} == {
        tuple(it) for it in agent.skills.astype(float).tolist()
    }
    assert found.shape == (12, 2)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found, chosen(agent, 12))


def test_skills_of_a_method_s_own_are_repeated_in_turn(agents):
    found = chosen(agents("dominic"), 20)
    np.testing.assert_array_equal(found[:8], np.eye(8))
    np.testing.assert_array_equal(found[8:16], np.eye(8))
    np.testing.assert_array_equal(found[16:], np.eye(8)[:4])
    np.testing.assert_array_equal(agents("dominic").skills, np.eye(8))  # one number everywhere
    assert chosen(agents("daydreamer"), 9).shape == (9, 0)


def test_a_number_leads_back_to_its_skill(agents):
    agent = agents("ursa")
    found = numbers(agent, 20)
    np.testing.assert_array_equal(agent.skills[found], chosen(agent, 20))
    assert found.tolist() != list(range(20))  # not the place in the list of those chosen
    # Drawn skills come after the known ones, and have no number.
    few = agents("ursa", known=5)
    assert sorted(numbers(few, 12).tolist()) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(few.skills[numbers(few, 12)], chosen(few, 12)[:5])
    assert numbers(agents("ursa", known=0), 12).tolist() == []


def test_numbers_are_those_that_watch_takes(agents):
    for method in ("ursa", "dominic"):
        agent = agents(method)
        found = numbers(agent, 8)
        np.testing.assert_array_equal(numbered(agent)[found], chosen(agent, 8))
    assert numbers(agents("dominic"), 11).tolist() == [*range(8), 0, 1, 2]


def test_thinning_leaves_every_row_its_number(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # a stand-in is no agent
    place = np.array([[0.0], [10.0], [10.5], [20.0]], np.float32)
    known = Repertoire.empty(6, 1, 1).add(place)
    agent = SimpleNamespace(repertoire=known, skills=place)
    # 10 and 10.5 are closest; 10.5 has 20 at 9.5, 10 has 0 at 10: the former is more crowded.
    assert numbers(agent, 3).tolist() == [0, 1, 3]
    # Of the others 0 and 10, 10 and 20 are equally close; with two left the ends remain.
    assert numbers(agent, 2).tolist() == [0, 3]


def test_what_is_promised_is_the_mean_over_wakings(agents):
    agent = agents("ursa")
    z = chosen(agent, 8)
    rest = agent.arena().start().observation
    found = promised(agent, z)
    assert found.shape == (8,)
    values = agent.value(np.repeat(rest, 64, axis=0), np.repeat(z, 8, axis=0)).reshape(8, 8)
    np.testing.assert_allclose(found, values.mean(axis=1), rtol=1e-6, atol=1e-8)
