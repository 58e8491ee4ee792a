"""A fault script says what happens when; a bad one is refused with everything that is wrong."""

import itertools

import pytest

from ursa.emulator.script import HELP, KINDS, happenings, parse, read
from ursa.errors import UserError

GOOD = """
[link]
loss = 0.1
[noise]
gyro = 0.02
[hand]
after = 20.0
[[fault]]
kind = "pull"
at = [3.0, 1.0]
seconds = [0.05, 2.0]
[[fault]]
kind = "stop"
every = 10.0
[[fault]]
kind = "storm"
at = 5.0
link = { loss = 0.5 }
"""


def test_a_script_is_read_and_its_faults_come_in_order(tmp_path):
    (tmp_path / "faults.toml").write_text(GOOD)
    script = read(tmp_path / "faults.toml")
    assert (script.link.loss, script.noise.gyro, script.hand) == (0.1, 0.02, 20.0)
    found = list(itertools.takewhile(lambda it: it.time < 1000, happenings(script, 3)))
    assert [it.time for it in found] == sorted(it.time for it in found)
    pulls = [it for it in found if it.kind == "pull"]
    assert [it.time for it in pulls] == [1.0, 3.0]
    assert all(0.05 <= it.seconds <= 2.0 for it in pulls)
    # 1000 s at one in 10 s: 100, give or take five standard deviations of 10
    assert 50 < sum(it.kind == "stop" for it in found) < 150
    assert next(it for it in found if it.kind == "storm").values["link"].loss == 0.5


def test_the_same_seed_is_the_same_fate():
    script = parse({"fault": [{"kind": "push", "every": 3.0}]})

    def fate(seed: int) -> list:
        return [(it.time, it.luck) for it in itertools.islice(happenings(script, seed), 50)]

    assert fate(1) == fate(1)
    assert fate(1) != fate(2)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"links": {}}, 'unknown section "links".*did you mean link'),
        ({"link": {"los": 1}}, 'unknown link setting "los".*did you mean loss'),
        ({"link": {"loss": 2}}, "link.loss = 2, want a share"),
        ({"link": {"loss": "x"}}, 'link.loss = "x", want a number >= 0'),
        ({"link": 3}, "link = 3: want a section"),
        ({"start": {"battery": 1.5}}, "start.battery = 1.5, want 0 to 1"),
        ({"hand": {"after": 0}}, "hand.after = 0, want a number > 0"),
        ({"fault": {}}, r"want \[\[fault\]\] sections"),
        ({"fault": [{}]}, 'fault 1: unknown kind ""'),
        ({"fault": [{"kind": "pul", "at": 1}]}, "did you mean pull"),
        ({"fault": [{"kind": "pull"}]}, r"fault 1 \(pull\): give either `at` or `every`"),
        ({"fault": [{"kind": "pull", "at": 1, "every": 2}]}, "either `at` or `every`"),
        ({"fault": [{"kind": "pull", "at": -1}]}, "at = -1, want a number >= 0"),
        ({"fault": [{"kind": "pull", "at": "soon"}]}, 'at = "soon", want a number'),
        ({"fault": [{"kind": "pull", "every": 0}]}, "every = 0, want a number >= 0.1"),
        ({"fault": [{"kind": "pull", "at": 1, "seconds": [1]}]}, r"want a number, or \[least"),
        ({"fault": [{"kind": "pull", "at": 1, "second": 1}]}, "did you mean seconds"),
        ({"fault": [{"kind": "battery", "at": 1, "share": 2}]}, "share = 2, want 0 to 1"),
        ({"fault": [{"kind": "hot", "at": 1, "joint": "XY"}]}, 'unknown joint "XY"'),
        ({"fault": [{"kind": "nan", "at": 1, "sensor": "nose"}]}, 'unknown sensor "nose"'),
        ({"fault": [{"kind": "storm", "at": 1, "link": {"loss": 9}}]}, "want a share"),
    ],
)
def test_a_mistake_is_named_with_what_is_allowed(raw, said):
    with pytest.raises(UserError, match=said):
        parse(raw)


def test_all_mistakes_are_told_at_once():
    with pytest.raises(UserError) as told:
        parse({"link": {"los": 1}, "fault": [{"kind": "x"}, {"kind": "pull"}]})
    assert len(str(told.value).splitlines()) == 4


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe = ")
    with pytest.raises(UserError, match=r"bad\.toml cannot be read"):
        read(tmp_path / "bad.toml")


def test_every_kind_is_explained():
    assert HELP.keys() == KINDS.keys()
