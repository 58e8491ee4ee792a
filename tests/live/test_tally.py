"""How often the actor took the robot home, saw it outside or lost it, where people look."""

import json
from types import SimpleNamespace

import pytest

from live.stacked import live_of
from log.logs import quick
from ursa.gate.mailbox import Told
from ursa.gate.modes import Mode
from ursa.live import dashboard, diary, gating
from ursa.live.notice import Notice
from ursa.live.supervisor import Supervisor
from ursa.live.tally import Tally
from ursa.shared import place, pulse
from ursa.shared.pulse import Beat


@pytest.fixture
def folder(tmp_path):
    found = quick(tmp_path)
    yield found
    place.forget(found)


def beat(pid, **said):
    return Beat(number=1, pid=pid, progress=0, said=said)


def counted(tally):
    for each in (
        None,
        beat(1, homings=2, outs=1, lost=0),
        beat(1, waiting="for another process"),  # says nothing of them
        beat(1, homings=3, outs=1, lost=0),
        beat(2, homings=0, outs=0, lost=0),  # another actor, from zero
        beat(2, homings=1, outs=0, lost=4),
    ):
        tally.hear(each)
    return tally.counts


def test_counts_of_actors_that_died_are_kept():
    assert counted(Tally()) == {"homings": 4, "stuck": 0, "outs": 1, "lost": 4, "rises": 0}


def test_a_tally_that_takes_one_actor_for_the_other_forgets_some():
    """Sabotage."""

    class Forgetful(Tally):
        def hear(self, beat):
            super().hear(beat and Beat(number=1, pid=1, progress=0, said=beat.said))

    assert counted(Forgetful()) == {"homings": 1, "stuck": 0, "outs": 0, "lost": 4, "rises": 0}


def test_they_are_in_the_file_of_interventions_and_on_the_line(folder):
    gating.create(folder, live_of(folder))
    book = diary.Diary(folder)
    told = Told(cycle=7, now=1.5, mode=Mode.RUN, since=0.0)
    actor = pulse.Pulse(folder, "actor")
    actor.beat(9, homings=2, outs=0, lost=1)
    book.write(told, last=True)
    actor.close()
    book.close()
    last = json.loads((folder / diary.NAME).read_text().splitlines()[-1])
    counts = {"homings": 2, "stuck": 0, "outs": 0, "lost": 1, "rises": 0}
    assert last == {"cycle": 7, "now": 1.5, "kind": "actor", "counts": counts}
    ward = SimpleNamespace(beat=None, ended=lambda: False, backoff=SimpleNamespace(total=0))
    run = Supervisor.__new__(Supervisor)  # of which the line needs no process
    run.diary, run.live, run._ears = book, live_of(folder), SimpleNamespace(newest=lambda: told)
    run.notice = Notice(due=False)
    run.wards = {"gate": ward, "recorder": ward, "learner": ward, "actor": ward}
    status = dashboard.Dashboard().status(run, 0.0)
    assert "restarts 0  homings 2  lost 1" in dashboard.line(status)
