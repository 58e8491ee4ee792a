"""Processes of several accounts at one computer, one after the other. Needs root.

Run as `python -m live.accounts SCENE MEMORY [SABOTAGE]`: its own program, so that what it forks is
small. Prints what each account had to say, as JSON.
"""

import json
import os
import sys
from pathlib import Path

from ursa import claim
from ursa.errors import UserError
from ursa.gate import drivers, link
from ursa.live import settings
from ursa.live.settings import Live
from ursa.shared import place

ROBOT = ("127.0.0.1", 1)
ANNA, BEN = 20001, 20002


def as_account(uid, act):
    """What a process of an account has to say to this."""
    inward, outward = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(uid)
            os.setuid(uid)
            said = str(act())
        except UserError as error:
            said = f"refused: {error}"
        except BaseException as error:
            said = repr(error)
        os.write(outward, said.encode())
        os._exit(0)
    os.close(outward)
    with os.fdopen(inward, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


def taken():
    link.claimed(ROBOT).close()
    return "taken"


def turns(memory):
    """All drive the same robot, one after the other."""
    return [as_account(uid, taken) for uid in (ANNA, BEN, ANNA, 0)]


def older(memory):
    """The first one had a version that left its lock to nobody else."""
    first = as_account(ANNA, taken)
    drivers.lock(*ROBOT, "lock").chmod(0o644)
    return [first, as_account(BEN, taken)]


def asked(memory):
    """Somebody wants the memory of a run of ours that is over."""
    folder = memory / "run"
    folder.mkdir()
    settings.write(folder, Live())
    place.shared(folder)
    place.forget(folder)
    return [as_account(ANNA, lambda: place.shared(folder))]


def private():
    """Sabotage: a lock is of the account that made it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    claim._opened = lambda path: os.open(path, flags, 0o644)


def main(scene, memory, sabotage=""):
    place.MEMORY = Path(memory)
    {"": int, "private": private}[sabotage]()
    print(json.dumps({"turns": turns, "older": older, "asked": asked}[scene](Path(memory))))


if __name__ == "__main__":
    main(*sys.argv[1:])
