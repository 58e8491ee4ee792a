"""A robot's machine and a learner's, with a real socket between them."""

import threading

from live.carriers import KEY, LIVE, begun
from log.logs import LAYOUT, step
from ursa.channel import channel
from ursa.channel.carrier import Unwanted
from ursa.channel.channel import Door
from ursa.live.carrying import Carrying
from ursa.live.desk import Desk
from ursa.live.replica import Replica
from ursa.log.ledger import Ledger
from ursa.shared import place


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
        self.replica.close()  # SQLite lets go only in the thread that began

    def record(self, count):
        end = self.ledger.end + count
        rows = [step(number) for number in range(self.ledger.end, end)]
        self.ledger.commit(self.ledger.end, rows)

    def forget(self):
        """The robot's folder loses its log; everything else of it stays."""
        self.ledger.close()
        for path in self.robot.glob("steps-*"):
            path.unlink()

    def carrying(self, key=KEY, folder=None, live=LIVE):
        return Carrying(folder or self.robot, live, lambda: channel.call(self.door.address, key))

    def close(self):
        self.over.set()
        self.thread.join()
        for each in (self.desk, self.door, self.ledger):
            each.close()
        for folder in (self.robot, self.copy):
            place.forget(folder)


def carried(machines, **changes):
    """Carry everything there is; returns the robot's end, still connected."""
    found = machines.carrying(**changes)
    turns = 0
    while found.turn(0.0):
        turns += 1
    return found, turns


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
