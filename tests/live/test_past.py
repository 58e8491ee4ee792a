"""A killed adaptation goes on with the same next skill; what is not certain is refused."""

import json

import numpy as np
import pytest

from ursa.adapt import ite
from ursa.adapt.ite import Trial
from ursa.errors import UserError
from ursa.live import past
from ursa.live.adapt_command import results
from ursa.live.trials import NAME, Kept
from ursa.repair.past import Past

ABOUT = {"agent": "5eed", "damage": "FL", "trials": 6, "prior": "value", "unsafe_limit": 0.5}
CHART = ite.normalised(
    np.random.default_rng(3).uniform(size=(40, 2)), np.random.default_rng(4).uniform(size=40)
)
RETURNS = np.random.default_rng(5).uniform(0, 0.7, 40)  # of a damaged robot


class Killed(Exception):
    """After a trial was written."""


def searched(kept, known, kill=None, told=None):
    """A search that writes each trial as it ends, and perhaps is killed after one of them."""
    made = []

    def make(row):
        made.append(row)
        nan = row % 7 == 0  # some are interrupted for good
        return Trial(np.nan if nan else float(RETURNS[row]), 0.25, row % 5 == 0, 4 * nan)

    def wrote(it):
        if it.number > len(known.trial):
            kept.write(kind="trial", number=it.number, row=it.skill, **results(it.trial))
        if it.number == kill:
            raise Killed

    return ite.search(CHART, known.first(make), 6, told=wrote), made


def tried(found):
    return [it.skill for it in found.attempts]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    kept = Kept(tmp_path_factory.mktemp("whole"), print, resumed=False, **ABOUT)
    return tried(searched(kept, Past())[0])


def resumed_after(folder, kill, read=past.read):
    """What a start tries that goes on after one that was killed; and the whole series."""
    with pytest.raises(Killed):
        searched(Kept(folder, print, resumed=False, **ABOUT), Past(), kill)
    known = read(folder, ABOUT, print)
    found, made = searched(Kept(folder, print, resumed=True, **ABOUT), known)
    return made, tried(found)


@pytest.mark.parametrize("kill", range(1, 7))
def test_killed_after_any_trial_it_goes_on_as_if_nobody_had_killed_it(tmp_path, undisturbed, kill):
    made, whole = resumed_after(tmp_path, kill)
    assert made == undisturbed[kill:]  # none is made twice
    assert whole == undisturbed
    again = past.read(tmp_path, ABOUT, print)  # and the file is that of one adaptation
    assert list(again.rows) == undisturbed


def test_without_what_was_seen_it_would_try_the_same_skills_again(tmp_path, undisturbed):
    """Sabotage."""
    made, _ = resumed_after(tmp_path, 3, lambda *arguments: Past())
    assert made == undisturbed


def test_trials_without_their_returns_would_lead_elsewhere(tmp_path, undisturbed):
    """Sabotage: it knows what was tried, and not what came of it."""

    def forgetful(*arguments):
        known = past.read(*arguments)
        return Past(rows=known.rows, trial=tuple(Trial(np.nan) for _ in known.trial))

    with pytest.raises((AssertionError, UserError)):
        assert resumed_after(tmp_path, 3, forgetful)[1] == undisturbed


def written(folder, count=3, **changes):
    kept = Kept(folder, print, resumed=False, **{**ABOUT, **changes})
    for number in range(1, count + 1):
        line = {"kind": "trial", "number": number, "row": number, **results(Trial(1.5 * number))}
        kept.write(**line)
    return folder / NAME


@pytest.mark.parametrize("cut", [1, 2, 30, 60])
def test_a_line_that_was_being_written_is_dropped_with_a_word(tmp_path, cut):
    path, said = written(tmp_path), []
    path.write_bytes(path.read_bytes()[:-cut])  # 1: all but the end of the line
    known = past.read(tmp_path, ABOUT, said.append)
    whole = cut == 1
    assert [it.ret for it in known.trial] == [1.5, 3.0] + [4.5] * whole
    assert len(said) == (not whole)
    Kept(tmp_path, print, resumed=True, **ABOUT).write(
        kind="trial", number=3 + whole, row=9, **results(Trial(7.0))
    )
    known = past.read(tmp_path, ABOUT, said.append)  # killed, and killed again
    assert known.rows == (1, 2, *(3,) * whole, 9)


def test_of_several_adaptations_in_a_file_the_last_one_goes_on(tmp_path):
    written(tmp_path, count=5, damage="FR")
    written(tmp_path, count=2)
    assert len(past.read(tmp_path, ABOUT, print).trial) == 2


def test_what_was_no_measurement_stays_none(tmp_path):
    kept = Kept(tmp_path, print, resumed=False, **ABOUT)
    kept.write(kind="trial", number=1, row=3, **results(Trial(np.nan, 1.0, False, 4)))
    kept.write(kind="rise", number=1, seconds=3.2, up=True)
    (trial,) = past.read(tmp_path, ABOUT, print).trial
    assert np.isnan(trial.ret)
    assert trial.interruptions == 4


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"agent": "0dd"}, "agent = '0dd'"),
        ({"damage": "FR"}, "damage = 'FR'"),
        ({"trials": 8}, "trials = 8"),
        ({"unsafe_limit": 1.0}, "unsafe_limit = 1.0"),
    ],
)
def test_another_agent_or_other_settings_are_refused_by_name(tmp_path, other, named):
    written(tmp_path, **other)
    with pytest.raises(UserError, match=named):
        past.read(tmp_path, ABOUT, print)


def changed(line, **values):
    """A line as somebody made it by hand, with a right checksum or a wrong one."""
    found = json.loads(line)
    del found["crc"]
    plain = {**found, **values}
    return json.dumps({**plain, "crc": past.checksum(plain)})


BAD = {
    "a line is damaged": lambda it: [it[0], it[1].replace("1.5", "9.5"), *it[2:]],
    "a line is missing": lambda it: [it[0], *it[2:]],
    "a line without checksum": lambda it: [it[0], '{"kind": "trial"}', *it[1:]],
    "no start": lambda it: it[1:],
    "a row that is text": lambda it: [it[0], changed(it[1], row="7"), *it[2:]],
    "a share above one": lambda it: [it[0], changed(it[1], unsafe=1.5), *it[2:]],
    "an array": lambda it: ["[1, 2]", it[0], "[]", *it[1:]],
    "nested": lambda it: [it[0], "[" * 100_000, *it[1:]],
    "binary": lambda it: [it[0], "\x00\x01", *it[1:]],
    "empty": lambda it: [],
}


@pytest.mark.parametrize("how", BAD)
def test_a_file_that_cannot_be_relied_on_is_refused_and_left_as_it_is(tmp_path, how):
    path = written(tmp_path)
    data = "\n".join([*BAD[how](path.read_text().splitlines()), ""])
    path.write_text(data)
    with pytest.raises(UserError, match="--resume to begin anew"):
        past.read(tmp_path, ABOUT, print)
    assert path.read_text() == data


def test_one_that_does_not_look_at_checksums_would_believe_a_changed_return(tmp_path, monkeypatch):
    """Sabotage."""
    path = written(tmp_path)
    path.write_text(path.read_text().replace("1.5", "9.5"))
    told = iter(json.loads(line)["crc"] for line in path.read_text().splitlines())
    monkeypatch.setattr(past, "checksum", lambda line: next(told))
    assert past.read(tmp_path, ABOUT, print).trial[0].ret == 9.5


def test_where_nothing_was_begun_there_is_nothing_to_go_on_with(tmp_path):
    with pytest.raises(UserError, match=r"trials\.jsonl is not there: leave out --resume"):
        past.read(tmp_path, ABOUT, print)
    (tmp_path / NAME).mkdir()
    with pytest.raises(UserError, match="no ordinary file"):
        past.read(tmp_path, ABOUT, print)


def test_an_agent_that_learnt_on_or_found_more_skills_is_another_one(tmp_path):
    for run in ("a", "a/agent"):
        place = tmp_path / run / "seed_4"
        place.mkdir(parents=True)
        signatures = []
        for name, data in [("agent.safetensors", b"1"), ("agent.safetensors", b"2"), ("x", b"")]:
            (place / name).write_bytes(data)
            signatures.append(past.signature(tmp_path / "a", 4))
        (place / "repertoire.npz").write_bytes(b"3")
        signatures.append(past.signature(tmp_path / "a", 4))
        assert signatures[1] == signatures[2]
        assert len(set(signatures)) == 3


def test_a_map_that_leads_elsewhere_is_another_map():
    with pytest.raises(UserError, match="tried row 4 of its map where this one would try 5"):
        Past(rows=(4,), trial=(Trial(1.0),)).first(lambda row: Trial(0.0))(5)


def test_rollouts_that_do_not_follow_each_other_are_refused():
    one = (Trial(1.0),)
    Past(rows=(1, 2), trial=one * 2, before=one).fit(2, 5)
    for odd in (
        Past(rows=(1,), trial=one, before=one),
        Past(rows=(1, 2), trial=one * 2, before=one, after=one),
        Past(rows=(1, 2, 3), trial=one * 3),
    ):
        with pytest.raises(UserError, match="do not follow each other"):
            odd.fit(2, 5)
