"""Learning: the process that trains while the robot walks, as much as the ratio allows.

It owns repertoire, feature map and threshold; it never touches the robot. Started by the
supervisor as `python -m ursa.live.learning FOLDER`.
"""

import logging
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Float

from ursa.errors import UserError
from ursa.journal import Journal
from ursa.live import child, rounds, settings, snapshot
from ursa.live.pace import behind
from ursa.live.settings import Live
from ursa.live.student import Student, warm
from ursa.log import rows as reading
from ursa.log.ledger import Refused
from ursa.log.store import Log
from ursa.log.sums import Sums
from ursa.log.watermark import Journal as Watermarks
from ursa.log.watermark import Watermark
from ursa.run import folder as place
from ursa.run.compiled import keep_programs
from ursa.run.publish import publish
from ursa.shared.handover import Publisher
from ursa.shared.pulse import Pulse
from ursa.types import Row

Array = np.ndarray
NAP = 0.02  # s between two looks at the log when there is nothing to do
SLOW = 60.0  # s below the lower bound of the ratio, then it is said
AGAIN = 1.0  # s until a disk that refused a round is asked again
log = logging.getLogger(__name__)


class Learning:
    """A student, its log and its journal; `turn` makes at most one round."""

    def __init__(self, folder: Path, live: Live, pulse: Pulse | None = None) -> None:
        """Take the newest sound checkpoint and repeat what the journal has after it."""
        self.folder, self.live, self._pulse = folder, live, pulse
        self.student = Student(place.config_of(folder))
        refuse_other_rows(live, self.student)
        self.unpublished = 0  # policies that were not finite, and so never left
        self._sums, self._slow = Sums(), None
        self._beats()
        self._held = ExitStack()
        try:
            self._resume(folder)
        except BaseException:
            self.close()
            raise

    def _resume(self, folder: Path) -> None:
        student = self.student
        self.log = self._held.enter_context(closing(Log(folder, self.live.layout)))
        self._watermarks = self._held.enter_context(closing(Watermarks(folder)))
        rounds.load(student, self.log, folder, self._watermarks.rounds)
        self._saved, self._saving = student.seen, time.monotonic()
        self._journal = self._held.enter_context(Journal(folder, resume=student.column))
        snapshot.prepare(folder, student)
        publisher = Publisher(snapshot.memory(folder))
        self._publisher = self._held.enter_context(closing(publisher))
        newest = 0
        for watermark, rested in rounds.repeated(student, self.log, folder, self._told):
            newest = max(newest, watermark.version)
            if rested:
                self._keep()
            self._beats()
        if newest > publisher.newest or (student.updates and not publisher.newest):
            self._publish(max(newest, 1))

    @property
    def slow(self) -> bool:
        """Whether fewer updates were made than the lower bound of the ratio asks for."""
        student, least = self.student, self.live.ratio_least
        return behind(student.column, student.plan.prefill, student.updates, least)

    def turn(self) -> bool:
        """One round, if one is due; False: there is nothing to do until rows come."""
        found = rounds.due(self.student, self.log, self.live.ratio_most, self.live.publish)
        if found is None:
            return False
        seen, updates = found
        version = max(self._watermarks.rounds, self._publisher.newest) + 1 if updates else 0
        watermark = Watermark(visible=seen, updates=updates, version=version)
        self._watermarks.note(watermark)
        rounds.make(self.student, self.log, watermark, self._told)
        if version:
            self._publish(version)
        self._beats()
        return True

    def save(self) -> bool:
        """Rest, and keep what is sound; False if it is not sound just now, or the disk is full."""
        student = self.student
        self._saving = time.monotonic()
        try:
            self._watermarks.note(Watermark(visible=student.seen, updates=0, version=0))
        except Refused as error:
            log.error("%s", error)
            return False
        return student.rest() and self._keep()

    def run(self, asked: Callable[[], bool]) -> None:
        """Until asked to end; then everything is saved. A full disk delays, it ends nothing."""
        while not asked():
            try:
                busy = self.turn()
            except Refused as error:  # nothing has happened: the round was not begun
                log.error("%s", error)
                busy = False
                time.sleep(AGAIN)
            if not busy:
                self._beats()
                time.sleep(NAP)
            self._mind(time.monotonic())
            old = time.monotonic() - self._saving > self.live.checkpoint
            if old and self.student.seen > self._saved:
                self.save()
        if self.student.seen > self._saved:
            self.save()

    def close(self) -> None:
        """A killed learner has lost nothing either."""
        self._held.close()

    def _keep(self) -> bool:
        """The checkpoint of a rest, its line before it, and the agent for use."""
        self._line()
        self._journal.sync()
        try:
            rounds.save(self.student, self.folder)
            student = self.student
            publish(student.learner, student.config, student.column, self.folder / "agent")
        except UserError as error:  # the disk; log and journal are enough to be made again
            log.error("%s", error)
            return False
        self._saved = self.student.seen
        return True

    def _publish(self, version: int) -> None:
        """A policy for the actor; one that is not finite does not leave: the last one stays."""
        try:
            self._publisher.publish(version, snapshot.arrays_of(self.student, version))
        except UserError as error:
            self.unpublished += 1
            log.warning("row %d: %s", self.student.column, error)

    def _told(self, watermark: Watermark, rows: Row | None, metrics: Float[Array, "k M"]) -> None:
        """After every round, new or repeated: the lines come out the same."""
        every, column = self.student.config.train.log_every, self.student.column
        self._sums.add(rows, metrics)
        if column // every > (column - reading.count(rows)) // every:
            self._line()

    def _line(self) -> None:
        student = self.student
        if not self._sums.rows and not self._sums.updates:
            return
        law = jax.device_get(student.programs.law_metrics(student.learner))
        events = {name: np.asarray(value).tolist() for name, value in law.items()}
        events |= self._sums.means(student.names)
        events |= {
            "learn/updates": student.updates,
            "learn/rounds": student.rounds,
            "learn/failures": student.trouble.failures.tolist(),
            "learn/rollbacks": student.trouble.rollbacks.tolist(),
            "learn/mended": student.mended,
            "log/steps": student.seen,
        }
        self._journal.write(student.column, events)
        self._sums = Sums()

    def _mind(self, now: float) -> None:
        """Say it, once a minute, when the learner has been too slow for a minute."""
        if not self.slow or self._slow is None:
            self._slow = now if self.slow else None
        elif now - self._slow >= SLOW:
            self._slow = now
            rows = self.student.column - self.student.plan.prefill
            ratio = self.student.updates / rows
            log.warning("%.4f updates per row, want %.4f", ratio, self.live.ratio_least)

    def _beats(self) -> None:
        if self._pulse is not None:
            student = self.student
            self._pulse.beat(
                student.updates,
                column=student.column,
                seen=student.seen,
                dropped=int(student.trouble.failures[0]),
                rollbacks=int(student.trouble.rollbacks[0]),
                unpublished=self.unpublished,
                slow=int(self.slow),
            )


def refuse_other_rows(live: Live, student: Student) -> None:
    """UserError if the rows on their way are not those of this run's robot and task."""
    wanted = (student.plan.sizes, student.plan.settings.method.skill_size)
    found = (live.layout.sizes, live.layout.skill)
    if found != wanted:
        raise UserError(
            f"{settings.NAME} has rows of {found[0]} and skills of {found[1]} numbers, the run in "
            f"config.json has {wanted[0]} and {wanted[1]}: start it again with ursa robot train"
        )


def main(folder: Path) -> int:
    """Learn until told to end; what was learnt is saved."""
    ending = child.Ending()
    keep_programs()
    live = settings.read(folder)
    warm(Student(place.config_of(folder)))  # before the first sign of life: it takes a while
    with ExitStack() as stack:
        pulse = stack.enter_context(closing(Pulse(folder, "learner")))
        learning = stack.enter_context(closing(Learning(folder, live, pulse)))
        learning.run(lambda: ending.asked)
    return 0


if __name__ == "__main__":
    child.enter(main)
