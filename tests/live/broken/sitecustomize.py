"""A storm without protections: what each of its processes does before anything else.

On the path of a run (PYTHONPATH), Python imports this first of all. The gate raises its gains by
a twentieth after all limits; the recorder acknowledges every other portion without writing it; the
supervisor starts nobody again; the learner sleeps, so that it need not be compiled.
"""

import sys
import time

WORDS = sys.orig_argv


def gate():
    from dataclasses import replace

    from ursa.gate import gate as gating

    bounded = gating.bounded

    def unbounded(*given):
        told = bounded(*given)
        return replace(told, kp=1.05 * told.kp)

    gating.bounded = unbounded


def recorder():
    from ursa.log.ledger import Ledger

    commit, portions = Ledger.commit, []

    def partly(self, first, records):
        portions.append(first)
        if len(portions) % 2 == 0 and records:
            self.end = first + len(records)
            return self.end
        return commit(self, first, records)

    Ledger.commit = partly


def supervisor():
    from ursa.live.ward import Ward

    failed = Ward._failed

    def left(self, how):
        failed(self, how)
        self._after = float("inf")
        return True

    Ward._failed = left


def learner():
    time.sleep(3600)


ROLES = {
    "ursa.live.gating": gate,
    "ursa.live.recording": recorder,
    "ursa.live.learning": learner,
}
for word in WORDS:
    ROLES.get(word, int)()
if "train" in WORDS:
    supervisor()
