"""Gates that break or are sabotaged: `python -m live.stub_gating FOLDER HOW`."""

import sys

from ursa.gate.link import Link
from ursa.live import child, gating

CYCLES = 1200  # until it breaks: the robot stands by then


def breaks():
    """A mistake outside the step function, which no step can turn into a limp command."""
    real, left = gating.Mouth.say, [CYCLES]

    def say(self, *given):
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("the mouth is full")
        real(self, *given)

    gating.Mouth.say = say


def curt():
    """Leaves without the limp command."""
    Link.close = lambda self: self._socket.close()


def hasty():
    """Leaves at once, standing as it is."""
    curt()
    gating.Loop.run = lambda self, ending: [self.cycle() for _ in iter(lambda: ending.asked, True)]


def forgets():
    """Takes over without looking at what was."""
    gating.resumed = lambda limits, last: gating.machine.begin(limits)


HOW = {each.__name__: each for each in (breaks, curt, hasty, forgets)}

if __name__ == "__main__":
    for how in sys.argv.pop().split("+"):
        HOW.get(how, int)()
    child.enter(gating.main)
