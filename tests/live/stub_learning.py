"""A learner that learns nothing: reads every row, checks it, and keeps a journal of its rounds."""

import time

from ursa.live import child, settings
from ursa.log import store
from ursa.log.watermark import Journal, Watermark
from ursa.shared import pulse


def main(folder):
    ending, beating, journal = child.Ending(), pulse.Pulse(folder, "learner"), Journal(folder)
    log, seen, wrong = store.Log(folder, settings.read(folder).layout), 0, 0
    while not ending.asked:
        end = log.end()
        for first, steps in log.steps(seen, end):
            found = steps.row.observation[:, 0, 0].tolist()
            wrong += found != list(range(first, first + len(found)))
        if end > seen:
            journal.note(Watermark(visible=end, updates=1, version=0))
        seen = end
        beating.beat(journal.rounds, wrong=wrong)
        time.sleep(0.02)
    return 0


if __name__ == "__main__":
    child.enter(main)
