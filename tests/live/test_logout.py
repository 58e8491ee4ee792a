"""Whether the end of an account's last session takes the memory of a run away, and who is told."""

import pytest

from live.stacked import live_of
from ursa.claim import account
from ursa.live import logout, ready

PERSON = 123456  # an account without a name: called by its number
LOGIND = "etc/systemd/logind.conf"
DROPPED = "etc/systemd/logind.conf.d"


@pytest.fixture
def root(tmp_path):
    """A computer as systemd runs it, with logind as it comes."""
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    written(tmp_path, LOGIND, "[Login]\n#RemoveIPC=yes\n")
    return tmp_path


def written(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_an_account_of_a_person_that_does_not_linger_is_told_what_to_say_first(root):
    told = logout.warning(root, PERSON)
    assert f"loginctl enable-linger {account(PERSON)}" in told
    assert "docs/robot.md" in told


def test_no_other_is_told_anything(root):
    assert logout.warning(root, 0) == ""
    assert logout.warning(root, 999) == ""  # a system account: its memory is left alone
    assert logout.warning(root / "without-systemd", PERSON) == ""


def test_one_that_lingers_is_told_nothing(root):
    written(root, f"var/lib/systemd/linger/{account(PERSON)}", "")
    assert logout.warning(root, PERSON) == ""


def test_one_that_does_not_look_would_tell_it_for_ever(root, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(logout, "LINGER", "nowhere")
    written(root, f"var/lib/systemd/linger/{account(PERSON)}", "")
    assert logout.warning(root, PERSON)


KEPT = {
    "in the file itself": {LOGIND: "[Login]\nRemoveIPC=no\n"},
    "in one that was dropped beside it": {f"{DROPPED}/robot.conf": "[Login]\nRemoveIPC = false\n"},
    "by the maker of the system": {"usr/lib/systemd/logind.conf.d/10.conf": "RemoveIPC=off"},
    "by the last word": {
        LOGIND: "RemoveIPC=yes",
        f"{DROPPED}/10.conf": "RemoveIPC=yes",
        f"{DROPPED}/20.conf": "RemoveIPC=0",
    },
}
REMOVED = {
    "nothing is said": {},
    "only as a remark": {LOGIND: "#RemoveIPC=no\n; RemoveIPC=no"},
    "by the last word": {LOGIND: "RemoveIPC=no", f"{DROPPED}/10.conf": "RemoveIPC=yes"},
    "by a file that hides another": {
        "usr/lib/systemd/logind.conf.d/10.conf": "RemoveIPC=no",
        f"{DROPPED}/10.conf": "# empty",
    },
    "of no settings": {f"{DROPPED}/robot.txt": "RemoveIPC=no"},
}


@pytest.mark.parametrize("case", KEPT)
def test_where_logind_is_told_to_keep_memory_nobody_else_is(root, case):
    for name, text in KEPT[case].items():
        written(root, name, text)
    assert logout.warning(root, PERSON) == ""


@pytest.mark.parametrize("case", REMOVED)
def test_where_it_is_not_somebody_is(root, case):
    for name, text in REMOVED[case].items():
        written(root, name, text)
    assert logout.warning(root, PERSON)


def checked(folder, monkeypatch):
    """What is said before a start that nothing else stands in the way of."""
    said = []
    monkeypatch.setattr(logout, "warning", lambda: "mind the logout")
    for name in ("_robot", "_clock"):
        monkeypatch.setattr(ready, name, lambda *words: None)
    ready.check(folder, live_of(folder, clock="wall", room=0.0), said.append)
    return said


def test_a_start_is_warned_and_not_refused(tmp_path, monkeypatch):
    assert checked(tmp_path, monkeypatch) == ["mind the logout"]


def test_a_start_without_that_look_would_say_nothing(tmp_path, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(ready, "_memory", lambda *words: None)
    assert checked(tmp_path, monkeypatch) == []
