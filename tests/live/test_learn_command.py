"""`ursa robot learn`: a learner that is kept alive beside the copy of a robot's log."""

import os
import shutil
import signal
import threading
from contextlib import closing
from dataclasses import replace

import pytest

from live.carriers import LIVE, begun
from live.stacked import AGAIN, LIMIT, PATIENT, STUBS, TESTS, until
from log.logs import LAYOUT, quick, served, step
from ursa.channel import channel, secret
from ursa.errors import UserError
from ursa.live import learn_command, replica, train_command
from ursa.live.carrying import Carrying
from ursa.log.ledger import Ledger
from ursa.shared import place, pulse


@pytest.fixture
def root(tmp_path, monkeypatch):
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)  # where the learner is found that learns nothing
    patient = replace(PATIENT, gate=0.0)
    stubbed = replace(replica.Live(), modules=STUBS, patience=patient, restarts=AGAIN)
    monkeypatch.setattr(replica, "Live", lambda: stubbed)
    found = quick(tmp_path)
    yield found
    shutil.rmtree(found, ignore_errors=True)


class Learner:
    """The command, in a thread; it is asked to end as by Ctrl-C."""

    def __init__(self, out):
        self.over, self.said, self.code = threading.Event(), [], None
        self.out, self.ready = out, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        assert self.ready.wait(LIMIT)

    def run(self):
        key = secret.make(self.out / secret.NAME)
        with (
            closing(replica.Replica(self.out)) as copy,
            closing(channel.Door(("127.0.0.1", 0), key)) as door,
            closing(learn_command.Desk(door, copy)) as desk,
        ):
            self.address = door.address
            self.ready.set()
            self.code = learn_command.serve(copy, desk, self.over.is_set, self.said.append)

    def end(self):
        self.over.set()
        self.thread.join()
        return self.code


def test_the_learner_reads_the_copy_is_started_again_and_ends_in_order(root):
    robot, out = begun(root / "robot"), root / "copy"
    with closing(Ledger(robot, LAYOUT.kind)) as ledger:
        for start in (0, 40):  # the command is given twice on the same folder
            learner = Learner(out)
            key = secret.read(out / secret.NAME)

            def call(address=learner.address, key=key):
                return channel.call(address, key)

            ledger.commit(start, [step(number) for number in range(start, start + 20)])
            with closing(Carrying(robot, LIVE, call)) as robots_end:
                beat = _learnt(robots_end, 0)
                os.kill(beat.pid, signal.SIGKILL)
                ledger.commit(start + 20, [step(n) for n in range(start + 20, start + 40)])
                again = _learnt(robots_end, robots_end.taken.progress)
                assert again.pid != beat.pid
                assert robots_end.taken.said["wrong"] == 0
            assert learner.end() == 0
            assert any("learner ended with SIGKILL" in said for said in learner.said)
    assert served(out, LAYOUT.kind) == served(robot, LAYOUT.kind)
    place.forget(robot)


def _learnt(robot, before):
    """Carry until the learner tells of more rounds than before; its last sign of life."""

    def more():
        robot.turn(1e9)
        return robot.taken.progress > before and robot.end

    until(more, "a learner that goes on")
    return pulse.last(_copy_of(robot), "learner")


def _copy_of(robot):
    return robot._folder.parent / "copy"


def test_it_listens_for_other_machines_only_if_told(tmp_path):
    with pytest.raises(UserError, match="--exposed"):
        learn_command.learn(tmp_path / "copy", listen="0.0.0.0:8077")
    assert not (tmp_path / "copy").exists()


def test_a_port_that_is_taken_is_named(tmp_path):
    with (
        closing(channel.Door(("127.0.0.1", 0), b"k")) as door,
        pytest.raises(UserError, match=r"Address already in use.*choose another port"),
    ):
        learn_command.learn(tmp_path / "copy", listen=f"127.0.0.1:{door.address[1]}")


LINK = ["--link", "udp://127.0.0.1:8007", "--preset", "tiny"]
AWAY = ["--learner", "tcp://127.0.0.1:9", "--key", "learner.key"]


def test_with_a_learner_elsewhere_somebody_carries_rows_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, _, live = train_command.settled(train_command.parse([*LINK, *AWAY]))
    assert live.modules.learner == "ursa.live.carrying"
    assert (live.learner, live.key) == ("tcp://127.0.0.1:9", str(tmp_path / "learner.key"))
    _, _, live = train_command.settled(train_command.parse(LINK))
    assert live.modules.learner == "ursa.live.learning"
    own = replace(live.modules, learner="mine.learning")
    assert train_command.modules_of("tcp://127.0.0.1:9", own) == own


def test_a_learner_elsewhere_that_cannot_be_named_or_proved_is_refused_at_once(tmp_path):
    with pytest.raises(UserError, match="want tcp://HOST:PORT"):
        train_command.settled(train_command.parse([*LINK, "--learner", "udp://127.0.0.1:9"]))
    out = tmp_path / "run"
    with pytest.raises(UserError, match=r"learner\.key cannot be read"):
        train_command.train([*LINK, *AWAY[:2], "--out", str(out)])
    assert not out.exists()
