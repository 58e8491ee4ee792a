"""An actor without a policy: wishes the stance, hands over rows that follow from their number."""

from contextlib import closing

import numpy as np

from ursa.gate import mailbox
from ursa.gate.modes import Mode
from ursa.live import child, settings
from ursa.log import record, store
from ursa.shared import pulse, ring
from ursa.shared.clock import open_clock
from ursa.types import Row

PERIOD = 0.05
STANDING = np.tile([0.0, 0.9, -1.8], 4)


def step(layout, number):
    """A row in which everything is its number."""
    sizes = layout.sizes
    row = Row(
        observation=np.full((1, sizes.observation), number, np.float32),
        action=np.zeros((1, sizes.action), np.float32),
        reward=np.full(1, 0.5 * number, np.float32),
        cost=np.full(1, -1.0, np.float32),
        posture=np.full((1, sizes.posture), number, np.float32),
        safe=np.array([True]),
        first=np.array([number == 0]),
    )
    skill = np.full(layout.skill, number, np.float32)
    return record.pack(layout, row, skill=skill, policy=0, time=number)


def main(folder):
    ending, live = child.Ending(), settings.read(folder)
    ears, mouth = mailbox.Listener(folder), mailbox.Wisher(folder)
    beating, writer = pulse.Pulse(folder, "actor"), ring.Writer(store.ring_of(folder))
    with closing(open_clock(live.clock, "actor")) as clock:
        due = clock.now()
        while not ending.asked:
            due = max(due + PERIOD, clock.now())
            now = clock.wait(due)
            mouth.wish(STANDING, now)
            told = ears.newest()
            current = told is not None and now - told.now < PERIOD  # or the gate is gone
            if current and told.mode is Mode.RUN and writer.waiting < writer.slots // 2:
                writer.put(step(live.layout, writer.next))
            beating.beat(writer.next)
    return 0


if __name__ == "__main__":
    child.enter(main)
