"""A robot's and a learner's machine, of which one is killed again and again.

Run as `python -m live.carriers FOLDER SEED TRIALS [SABOTAGE]`: its own program, so that what it
forks is small. A victim counts the lines of our code that it runs and kills itself at a random one,
which repeats exactly; the other notices and leaves. Prints what was counted, as JSON.
"""

import json
import os
import random
import socket
import sys
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path

from log.kills import trap
from log.logs import LAYOUT, served, step
from ursa.channel import carrier, channel
from ursa.channel.carrier import Broken, Kind, Taken
from ursa.channel.channel import Channel, Door
from ursa.config import alone
from ursa.live import settings as living
from ursa.live.carrying import Carrying, introduced
from ursa.live.desk import Desk
from ursa.live.replica import Replica
from ursa.live.settings import Live
from ursa.log.ledger import Ledger
from ursa.presets import preset
from ursa.run import folder as runs
from ursa.shared import place

KEY = b"k" * 64
LIVE = Live(observation=3, action=2, posture=1, skill=2)
ROBOT, LEARNER = "robot", "learner"
GREETING, LINES = 2500, 800  # at which a victim dies at the latest: from the start, and greeted


def begun(folder, live=LIVE):
    """The folder of a run on a robot, without any rows."""
    runs.begin(folder, alone(preset("tiny")))
    living.write(folder, live)
    place.shared(folder)
    return folder


class Once(Door):
    """A door through which one robot comes; when it has gone, `over` is called."""

    def __init__(self, channel_, over):
        self._channel, self._over = channel_, over

    def newcomer(self):
        found, self._channel = self._channel, None
        return found

    def wait(self, seconds):
        self._over()


def robot(folder, connection, tell, greeted):
    """Carry until there is nobody to carry to; tell what was taken."""
    channel.shaken(connection, KEY, (answer_challenge, deliver_challenge))
    ready = [Channel(connection, KEY, carrier.ROBOT)]

    def call():
        if not ready:
            os._exit(0)
        return ready.pop()

    carrying, now = Carrying(folder, LIVE, call), 0.0
    while True:
        carrying.turn(now := now + 100.0)
        tell(carrying.end)
        greeted()


def learner(folder, connection, tell, greeted):
    channel.shaken(connection, KEY, (deliver_challenge, answer_challenge))
    door = Once(Channel(connection, KEY, carrier.LEARNER), lambda: os._exit(0))
    desk = Desk(door, Replica(folder))
    while True:
        desk.turn(1.0)
        if desk.welcomed:
            greeted()


def early():
    """The learner says that it has rows before they are on disk."""
    real = Desk._exchange

    def exchange(self, channel_):
        if not self.welcomed:
            return real(self, channel_)
        kind, payload = channel_.hear(carrier.most(LAYOUT.kind.size))
        _, first, records = carrier.unrows(payload, LAYOUT.kind.size)
        channel_.tell(Kind.TAKEN, carrier.pack(Taken(end=first + len(records))))
        self._replica.answer(kind, payload)

    Desk._exchange = exchange


def forgetful():
    """After a break the learner asks for rows that it has, and takes whatever comes for new."""
    welcome = Replica.welcome

    def welcomed(self, hello):
        found = welcome(self, hello)
        return carrier.Welcome(end=max(found.end - 2, 0), last="", nonce=found.nonce)

    def take(self, payload):
        records = carrier.unrows(payload, LAYOUT.kind.size)[2]
        self.commit(self.end, records)
        return ""

    Replica.welcome, Replica._take = welcomed, take


def forked(role, way, line, mine, theirs, folder):
    """Start a role that dies so many lines after it was started, or greeted ("": never); its
    process, and where it tells."""
    inward, outward = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(inward)
            theirs.close()
            arm = {way: [lambda: sys.settrace(trap(line))]}
            for each in arm.get("start", []):
                each()
            left = arm.get("greeted", [])
            work = robot if role == ROBOT else learner
            work(
                folder,
                Connection(mine.detach()),
                lambda number: os.write(outward, number.to_bytes(8, "little")),
                lambda: left.pop()() if left else None,
            )
        except Broken:  # the other died during the handshake
            os._exit(0)
        finally:
            os._exit(1)
    os.close(outward)
    return child, inward


def trial(rng, folders, counted, sabotage):
    """One of the two dies; returns up to where the robot was told that its rows are safe."""
    left, right = socket.socketpair()
    victim, way = rng.choice((ROBOT, LEARNER)), rng.choice(("start", "greeted", "greeted"))
    line = rng.randint(1, GREETING if way == "start" else LINES)
    if sabotage:  # where it hurts
        victim, way, line = (
            LEARNER,
            "greeted",
            rng.randint(1, 200 if sabotage == "early" else LINES),
        )
    found = {}
    for role, mine, theirs in ((ROBOT, left, right), (LEARNER, right, left)):
        dies = way if role == victim else ""
        found[role] = forked(role, dies, line, mine, theirs, folders[role])
    left.close()
    right.close()
    said = {}
    for role, (child, inward) in found.items():
        with os.fdopen(inward, "rb") as pipe:
            data = pipe.read()
        starts = range(0, len(data) // 8 * 8, 8)
        said[role] = [int.from_bytes(data[at : at + 8], "little") for at in starts]
        code = os.waitpid(child, 0)[1]
        counted["kills"] += os.WIFSIGNALED(code)
        counted["errors"] += not os.WIFSIGNALED(code) and code != 0
    return max(said[ROBOT], default=0)


def main(folder, seed, trials, sabotage=""):
    rng, folder = random.Random(int(seed)), Path(folder)
    {"": int, "early": early, "forgetful": forgetful}[sabotage]()
    carrier.MOST = 3  # rows in a frame, so that a death falls between frames
    folders = {ROBOT: begun(folder / ROBOT), LEARNER: folder / LEARNER}
    for path in folders.values():
        path.mkdir(exist_ok=True)
    first = Replica(folders[LEARNER])
    first.welcome(introduced(folders[ROBOT], LIVE))
    first.close()
    counted = {"kills": 0, "errors": 0, "lost": 0, "changed": 0, "alarms": 0}
    told = 0
    ledger = Ledger(folders[ROBOT], LAYOUT.kind)
    for _ in range(int(trials)):
        end = ledger.end + rng.randint(1, 15)
        ledger.commit(ledger.end, [step(number) for number in range(ledger.end, end)])
        told = max(told, trial(rng, folders, counted, sabotage))
        mine, theirs = served(folders[ROBOT], LAYOUT.kind), served(folders[LEARNER], LAYOUT.kind)
        counted["lost"] += sum(number not in theirs[0] for number in range(told))
        counted["changed"] += sum(mine[0].get(n) != data for n, data in theirs[0].items())
        counted["alarms"] += len(mine[1]) + len(theirs[1])
    counted["told"], counted["rows"] = told, ledger.end
    for path in folders.values():
        place.forget(path)
    print(json.dumps(counted))


if __name__ == "__main__":
    main(*sys.argv[1:])
