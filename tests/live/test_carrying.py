"""Actor and learner on two machines: rows go over once each, policies come back whole, strangers
stay outside."""

import json
import pickle  # noqa: TID251 - to see that nobody opens one
import shutil
import socket
import struct
import subprocess
import sys
import threading
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from live.carriers import KEY, LIVE, Once, begun
from log.logs import LAYOUT, quick, served, step
from sizes import SEED, patience, size
from ursa import durable
from ursa.channel import carrier, channel
from ursa.channel.carrier import Broken, Kind, Unwanted
from ursa.channel.channel import Channel, Door
from ursa.errors import UserError
from ursa.live import replica
from ursa.live import settings as living
from ursa.live.carrying import Carrying, introduced
from ursa.live.desk import Desk
from ursa.live.replica import Replica
from ursa.live.settings import Live
from ursa.log.ledger import Ledger
from ursa.shared import handover, place

TESTS = Path(__file__).parents[1]
OTHER = b"o" * 64
WEIGHTS = {"weights": np.arange(6, dtype=np.float32), "skills": np.ones((2, 2), np.float32)}


def killed(tmp_path, trials, sabotage="", seed=7 + SEED):
    """What `live.carriers` counted."""
    root = quick(tmp_path)
    print(f"seed {seed}")
    words = [sys.executable, "-m", "live.carriers", str(root), str(seed), str(trials), sabotage]
    done = subprocess.run(words, cwd=TESTS, capture_output=True, text=True)
    shutil.rmtree(root, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.timeout(patience("URSA_CARRIER_KILLS"))
def test_40_kills_of_either_side_lose_no_acknowledged_row_and_double_none(tmp_path):
    kills = size("URSA_CARRIER_KILLS")
    counted = killed(tmp_path, kills)
    assert counted.pop("told") > 100
    assert counted.pop("rows") > 200
    assert counted == {"kills": kills, "errors": 0, "lost": 0, "changed": 0, "alarms": 0}


def test_a_learner_that_acknowledges_before_it_commits_would_lose_some(tmp_path):
    assert killed(tmp_path, 15, "early")["lost"] > 0


def test_a_learner_that_takes_rows_without_looking_at_numbers_would_double_some(tmp_path):
    assert killed(tmp_path, 8, "forgetful")["changed"] > 0


class Machines:
    """A robot's folder with a log, and a learner's machine behind a real socket."""

    def __init__(self, root, key=KEY):
        self.robot, self.copy = begun(root / "robot"), root / "copy"
        self.copy.mkdir()
        self.ledger = Ledger(self.robot, LAYOUT.kind)
        self.replica = Replica(self.copy)
        self.door = Door(("127.0.0.1", 0), key)
        self.desk = Desk(self.door, self.replica)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.attend)
        self.thread.start()

    def attend(self):
        while not self.over.is_set():
            self.desk.turn(0.02)

    def record(self, count):
        end = self.ledger.end + count
        rows = [step(number) for number in range(self.ledger.end, end)]
        self.ledger.commit(self.ledger.end, rows)

    def carrying(self, key=KEY, folder=None, live=LIVE):
        return Carrying(folder or self.robot, live, lambda: channel.call(self.door.address, key))

    def close(self):
        self.over.set()
        self.thread.join()
        for each in (self.desk, self.door, self.replica, self.ledger):
            each.close()
        for folder in (self.robot, self.copy):
            place.forget(folder)


@pytest.fixture
def root(tmp_path):
    found = quick(tmp_path)
    yield found
    shutil.rmtree(found, ignore_errors=True)


@pytest.fixture
def machines(root):
    with closing(Machines(root)) as found:
        yield found


def carried(machines, **changes):
    """Carry everything there is; returns the robot's end, still connected."""
    found = machines.carrying(**changes)
    turns = 0
    while found.turn(0.0):
        turns += 1
    return found, turns


def test_rows_arrive_in_order_and_the_rest_follows(machines):
    machines.record(1100)
    robot, turns = carried(machines)
    with closing(robot):
        assert (robot.end, turns) == (1100, 3)  # 512 + 512 + 76
        machines.record(5)
        assert robot.turn(0.0)
        assert not robot.turn(0.0)
        assert robot.end == 1105
    mine, theirs = served(machines.robot, LAYOUT.kind), served(machines.copy, LAYOUT.kind)
    assert mine == theirs
    assert len(theirs[0]) == 1105


def test_rows_that_are_not_on_disk_at_the_robot_do_not_leave(machines):
    machines.record(3)
    machines.ledger._volume[0].commit(3, [step(3)])  # committed, and nobody was told yet
    robot, _ = carried(machines)
    robot.close()
    assert served(machines.copy, LAYOUT.kind)[2] == 3


def test_rows_that_are_lost_at_the_robot_leave_a_gap_in_the_copy(machines):
    machines.record(4)
    machines.ledger.leave_gap(9)
    machines.record(2)
    robot, _ = carried(machines)
    robot.close()
    found, _, end = served(machines.copy, LAYOUT.kind)
    assert (sorted(found), end) == ([0, 1, 2, 3, 9, 10], 11)


def test_the_copy_is_a_run_of_its_own_with_our_modules(machines):
    machines.record(1)
    robot, _ = carried(machines)
    robot.close()
    live = living.read(machines.copy)
    assert live == replace(Live(), **replica.carried(LIVE))
    assert (machines.copy / "config.json").read_bytes() == (
        machines.robot / "config.json"
    ).read_bytes()
    assert (machines.copy / "identity").read_bytes() != (machines.robot / "identity").read_bytes()


def outcome(machines, **changes):
    """How a robot with one row is met, and how many rows the learner has then."""
    machines.record(1)
    robot = machines.carrying(**changes)
    try:
        robot.turn(0.0)
        said = robot.why
    except Unwanted as error:
        said = str(error)
    robot.close()
    return said, machines.replica.end


def unkeyed(monkeypatch):
    """Nobody is asked for the key, and no frame depends on it."""
    plain = carrier._digest
    monkeypatch.setattr(channel, "shaken", lambda *_: None)
    monkeypatch.setattr(carrier, "_digest", lambda key, *parts: plain(KEY, *parts))


def test_a_wrong_key_is_refused_and_nothing_is_read(machines):
    said, rows = outcome(machines, key=OTHER)
    assert "another key" in said
    assert "learner.key" in said
    assert rows == 0
    assert not (machines.copy / replica.ORIGIN).exists()  # not even a hello was read
    machines.door.close()
    assert machines.door.refused == 1


def test_without_the_key_anybody_would_be_heard(machines, monkeypatch):
    unkeyed(monkeypatch)
    assert outcome(machines, key=OTHER) == ("", 1)


def strangers(address):
    """One slams the door, one says nothing, one stops halfway, one speaks another protocol, one
    sends a huge length, one a negative one."""
    with socket.create_connection(address) as rude:
        rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for said in (b"", b"\0\0", b"GET / HTTP/1.1\r\n\r\n", b"\x7f\xff\xff\xff", b"\xff" * 12):
        made = socket.create_connection(address)
        made.sendall(said)
        yield made


def served_beside_strangers(machines, monkeypatch, tries):
    monkeypatch.setattr(channel, "HANDSHAKE", 0.3)
    machines.record(1)
    with ExitStack() as stack:
        for each in strangers(machines.door.address):
            stack.enter_context(each)
        robot = machines.carrying()
        for number in range(tries):
            robot.turn(100.0 * number)
            if not robot.why:
                break
        robot.close()
    return machines.replica.end


def test_strangers_who_say_nothing_or_nonsense_do_not_hold_the_door(machines, monkeypatch):
    assert served_beside_strangers(machines, monkeypatch, 40) == 1


def test_without_a_limit_on_the_handshake_one_silent_stranger_would(machines, monkeypatch):
    real, main = channel._deadline, threading.main_thread()

    def never(connection, seconds):  # at the door; the robot still gives up
        robot = threading.current_thread() is main
        return real(connection, seconds) if robot else nullcontext()

    monkeypatch.setattr(channel, "_deadline", never)
    assert served_beside_strangers(machines, monkeypatch, 4) == 0


def test_a_robot_that_is_connected_is_served_while_strangers_wait(machines, monkeypatch):
    robot = machines.carrying()
    robot.turn(0.0)
    with ExitStack() as stack:
        for each in strangers(machines.door.address):
            stack.enter_context(each)
        machines.record(3)
        assert robot.turn(0.0)  # nobody had to leave for that
        assert robot.end == 3
        robot.close()
        monkeypatch.setattr(channel, "HANDSHAKE", 0.1)


class Bomb:
    """What a pickle may do when it is opened."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def bombed(path, raw=False):
    """A pickle is sent as a frame; whether it went off."""
    left, right = Pipe()
    bomb = pickle.dumps(Bomb(path))
    if raw:
        left.send_bytes(bomb)
    else:
        Channel(left, KEY, carrier.ROBOT).tell(Kind.HELLO, bomb)

    door = Once(Channel(right, KEY, carrier.LEARNER), lambda: None)
    desk = Desk(door, Replica(path.parent / "copy"))
    assert desk.turn(1.0) is False
    desk.close()
    left.close()
    return path.exists()


@pytest.mark.parametrize("raw", [True, False])
def test_a_pickle_sent_as_a_frame_is_never_unpickled(tmp_path, raw):
    assert not bombed(tmp_path / "sentinel", raw)


def test_a_channel_that_used_recv_would_unpickle_it(tmp_path, monkeypatch):
    def hear(self, most):
        self._connection.recv()
        raise Broken("too late")

    monkeypatch.setattr(Channel, "hear", hear)
    assert bombed(tmp_path / "sentinel", raw=True)


def heard(length, most):
    left, right = Pipe()
    with left, right:
        thread = threading.Thread(
            target=Channel(left, KEY, carrier.ROBOT).tell, args=(Kind.ROWS, bytes(length))
        )
        thread.start()
        try:
            return len(Channel(right, KEY, carrier.LEARNER).hear(most)[1])
        except Broken as error:
            return str(error)
        finally:
            thread.join()


def test_a_frame_that_is_too_long_is_not_read(monkeypatch):
    assert heard(1000, 1000) == 1000
    assert "bad message length" in heard(1001, 1000)
    real = Connection.recv_bytes
    monkeypatch.setattr(Connection, "recv_bytes", lambda self, most: real(self))
    assert heard(1001, 1000) == 1001  # without the limit


def test_rows_before_a_hello_are_refused(machines):
    robot, _ = carried(machines)
    robot.close()
    channel_ = channel.call(machines.door.address, KEY)
    channel_.tell(Kind.ROWS, carrier.rows(0, 0, [step(0)]))
    with pytest.raises(Broken):
        channel_.hear(1000)
    channel_.close()
    assert machines.replica.end == 0


def test_rows_in_the_wrong_place_are_refused(root):
    robot = begun(root / "robot")
    with closing(Replica(root / "copy")) as copy:
        copy.welcome(introduced(robot, LIVE))
        copy.answer(Kind.ROWS, carrier.rows(0, 0, [step(0), step(1)]))
        for after, first in ((0, 0), (1, 1), (3, 3), (0, 2)):  # repeated, repeated, lost, a gap
            with pytest.raises(Broken, match="the copy ends at 2"):
                copy.answer(Kind.ROWS, carrier.rows(after, first, [step(first)]))
        assert copy.end == 2
    for each in (robot, root / "copy"):
        place.forget(each)


def test_another_run_is_refused_by_name(machines, root):
    carried(machines)[0].close()
    other = begun(root / "other")
    said, rows = outcome(machines, folder=other)
    place.forget(other)
    mine, theirs = ((it / "identity").read_text()[:8] for it in (machines.robot, other))
    assert f"copy of run {mine}..., this robot is run {theirs}..." in said
    assert "--out" in said
    assert rows == 0


def test_without_the_identity_rows_of_two_runs_would_be_mixed(machines, root, monkeypatch):
    machines.record(2)
    carried(machines)[0].close()
    other = begun(root / "other")
    with closing(Ledger(other, LAYOUT.kind)) as ledger:
        ledger.commit(0, [step(0), step(1), step(77)])
    theirs = (other / "identity").read_text()
    monkeypatch.setattr(Replica, "_origin", lambda self: theirs)
    assert outcome(machines, folder=other) == ("", 3)
    place.forget(other)


def test_another_layout_is_refused(machines, root):
    carried(machines)[0].close()
    other = begun(root / "other", replace(LIVE, observation=4))
    (other / "identity").write_bytes((machines.robot / "identity").read_bytes())
    said, rows = outcome(machines, folder=other, live=replace(LIVE, observation=4))
    assert "observation=3" in said
    assert "observation=4" in said
    assert rows == 0


def test_another_format_of_rows_is_refused(machines, monkeypatch):
    hello = introduced(machines.robot, LIVE)
    with pytest.raises(Unwanted, match="rows are laid out as"):
        machines.replica.welcome(replace(hello, layout=hello.layout.replace("1", "2", 1)))
    assert machines.replica.live is None


@pytest.mark.parametrize("name", ["os:path", "package.module"])
def test_a_module_named_by_the_robot_is_not_imported(root, name):
    robot = begun(root / "robot")
    hello = introduced(robot, LIVE)
    with closing(Replica(root / "copy")) as copy, pytest.raises(Unwanted, match="installed"):
        copy.welcome(replace(hello, config={**hello.config, "robot": name}))
    place.forget(robot)


def test_settings_of_processes_are_not_taken_from_the_robot(root):
    robot = begun(root / "robot")
    hello = introduced(robot, LIVE)
    with closing(Replica(root / "copy")) as copy:
        for more in ({"modules": {"learner": "antigravity"}}, {"rows": "many"}, {"rows": -1}):
            with pytest.raises(UserError):
                copy.welcome(replace(hello, live={**hello.live, **more}))
        assert not (root / "copy" / replica.ORIGIN).exists()
    place.forget(robot)


def test_a_folder_with_a_run_of_its_own_is_not_written_over(root):
    robot, own = begun(root / "robot"), begun(root / "own")
    before = durable.sha256((own / "config.json").read_bytes())
    with closing(Replica(own)) as copy, pytest.raises(UserError, match="holds a run already"):
        copy.welcome(introduced(robot, LIVE))
    assert durable.sha256((own / "config.json").read_bytes()) == before
    for each in (robot, own):
        place.forget(each)


def test_a_copy_that_is_not_a_beginning_of_the_log_is_refused(machines, root):
    machines.record(5)
    carried(machines)[0].close()
    back = begun(root / "back")  # the robot's log was put back, or went another way since
    (back / "identity").write_bytes((machines.robot / "identity").read_bytes())
    with closing(Ledger(back, LAYOUT.kind)) as ledger:
        ledger.commit(0, [step(number) for number in range(3)])
        with pytest.raises(Unwanted, match="copy ends at row 5, this robot's log at 3"):
            machines.carrying(folder=back).turn(0.0)
        ledger.commit(3, [step(30), step(40), step(50)])
        with pytest.raises(Unwanted, match="row 4 of the learner's copy is not row 4 of this log"):
            machines.carrying(folder=back).turn(0.0)
    assert machines.replica.end == 5


def published(folder, version, arrays):
    """What the learner of a copy does."""
    path = place.shared(folder) / carrier.MEMORY
    if not path.exists():
        handover.create(path, capacity=len(handover.encode(WEIGHTS)))
    with closing(handover.Publisher(path)) as publisher:
        publisher.publish(version, arrays)


@contextmanager
def actor(folder):
    with closing(handover.Subscriber(place.shared(folder) / carrier.MEMORY)) as found:
        yield found


def test_policies_come_back_whole_and_the_newest_is_enough(machines):
    robot = machines.carrying()
    robot.turn(0.0)
    assert robot.newest == 0
    for version in (1, 2, 7):
        published(machines.copy, version, {k: it * version for k, it in WEIGHTS.items()})
    robot.turn(0.0)
    with actor(machines.robot) as reader:
        found = reader.newer(0)
        assert found.version == robot.newest == 7
        assert found.arrays["weights"].tolist() == [0, 7, 14, 21, 28, 35]
        robot.turn(0.0)
        assert reader.newer(7) is None
    robot.close()
    with closing(machines.carrying()) as again:  # one that is started again knows what is there
        assert again.newest == 7


@contextmanager
def alone(root):
    """A robot's end that is called by nobody."""
    folder = begun(root / "robot")

    def nobody():
        raise Broken("nobody")

    with closing(Carrying(folder, LIVE, nobody)) as found:
        yield found
    place.forget(folder)


def spoilt():
    data = bytearray(handover.encode(WEIGHTS))
    data[-4:] = np.float32(np.nan).tobytes()
    return bytes(data)


def test_a_policy_that_is_not_finite_is_not_put_in_place(root, monkeypatch):
    with alone(root) as robot:
        assert robot.put(3, handover.encode(WEIGHTS))
        assert not robot.put(4, spoilt())
        assert not robot.put(5, b"no policy at all")
        assert (robot.newest, robot.refused) == (3, 2)
        monkeypatch.setattr(handover, "unsound", lambda arrays: "")
        assert robot.put(6, spoilt())  # without the check
        assert robot.newest == 6


def test_a_policy_that_is_not_newer_is_not_put_in_place(root, monkeypatch):
    with alone(root) as robot:
        assert robot.put(3, handover.encode(WEIGHTS))
        for version in (0, 1, 2, 3):
            assert not robot.put(version, handover.encode(WEIGHTS))
        assert robot.newest == 3
        robot._publisher.newest = 0  # without knowing what is there
        assert robot.put(2, handover.encode(WEIGHTS))


def test_a_spoilt_policy_is_asked_for_once(machines, monkeypatch):
    robot = machines.carrying()
    robot.turn(0.0)
    published(machines.copy, 1, WEIGHTS)
    monkeypatch.setattr(Replica, "_policy", lambda self, than: carrier.policy(1, spoilt()))
    for _ in range(3):
        robot.turn(0.0)
    assert (robot.newest, robot.refused) == (0, 1)
    robot.close()


def test_a_learner_that_is_gone_is_called_less_and_less_often(root):
    calls = []
    folder = begun(root / "robot")

    def nobody():
        calls.append(now)
        raise Broken("nobody is there")

    with closing(Carrying(folder, LIVE, nobody)) as robot:
        for tick in range(1300):
            now = tick / 10
            robot.turn(now)
        assert robot.why == "nobody is there"
    assert calls == [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5, 121.5]
    place.forget(folder)


def test_after_a_break_it_goes_on_by_itself(machines):
    machines.record(2)
    robot, _ = carried(machines)
    machines.desk._channel.close()  # the cable is out
    machines.record(2)
    assert robot.turn(0.0) is False
    assert robot.why
    assert robot.turn(0.4) is False
    assert robot.turn(0.6)
    assert robot.end == 4
    assert robot.why == ""
    robot.close()
    assert served(machines.copy, LAYOUT.kind) == served(machines.robot, LAYOUT.kind)


def test_a_full_disk_at_the_learner_delays_and_loses_nothing(machines, monkeypatch):
    robot = machines.carrying()
    machines.record(3)
    real = shutil.disk_usage

    def full(path):
        found = real(path)
        return found._replace(free=0) if Path(path) == machines.copy else found

    carried(machines)[0].close()
    monkeypatch.setattr(shutil, "disk_usage", full)
    machines.record(3)
    assert not robot.turn(0.0)
    assert robot.end == 3
    assert "free some space" in robot.taken.paused
    monkeypatch.setattr(shutil, "disk_usage", real)
    assert robot.turn(0.0)
    assert robot.end == 6
    robot.close()


def test_snapshots_lie_where_the_actor_looks_for_them(tmp_path):
    from ursa.live import snapshot

    assert snapshot.memory(tmp_path) == place.shared(tmp_path) / carrier.MEMORY
    place.forget(tmp_path)
