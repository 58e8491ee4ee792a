"""A recorder that says "on disk" before it is, and dies in between: what must never pass a test."""

import os
import signal

from ursa.live import child, recording
from ursa.log.ledger import Ledger
from ursa.log.store import Recorder

real = Ledger.commit


def main(folder):
    made = []
    begin = Recorder.__init__

    def init(self, *given):
        begin(self, *given)
        made.append(self)

    def commit(self, first, records):
        if made and records:
            made[0]._ring.release(first + len(records))  # acknowledged ...
            if not (folder / "early").exists():
                (folder / "early").touch()
                os.kill(os.getpid(), signal.SIGKILL)  # ... and gone
        return real(self, first, records)

    Recorder.__init__, Ledger.commit = init, commit
    return recording.main(folder)


if __name__ == "__main__":
    child.enter(main)
