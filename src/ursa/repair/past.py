"""Past: the rollouts that an earlier start of an adaptation came to, and how it goes on from them.

The search is made again from its first trial on: what is known already costs no step of the robot,
and leads to the same next skill as if nobody had interrupted it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ursa.adapt.ite import Trial
from ursa.errors import UserError

KINDS = ("trial", "before", "after")


@dataclass(frozen=True, kw_only=True)
class Past:
    """What was made already, in its order."""

    rows: tuple[int, ...] = ()  # of the map: which skills the trials tried
    trial: tuple[Trial, ...] = ()
    before: tuple[Trial, ...] = ()
    after: tuple[Trial, ...] = ()

    @property
    def count(self) -> int:
        return sum(len(getattr(self, kind)) for kind in KINDS)

    def fit(self, trials: int, again: int) -> None:
        """UserError unless this is the beginning of so many trials, and so many rollouts after."""
        most = {"trial": trials, "before": again, "after": again}
        made = {kind: len(getattr(self, kind)) for kind in KINDS}
        open_ = [kind for kind in KINDS if made[kind] < most[kind]]
        late = sum(made[kind] for kind in KINDS[KINDS.index(open_[0]) + 1 :]) if open_ else 0
        if late or any(made[kind] > most[kind] for kind in KINDS):
            told = ", ".join(f"{made[kind]} of {most[kind]} {kind}" for kind in KINDS)
            raise UserError(
                f"there are rollouts that do not follow each other ({told}); leave out --resume "
                "to begin anew"
            )

    def first(self, make: Callable[[int], Trial]) -> Callable[[int], Trial]:
        """Trials as they came out, one after the other, and after them those that `make` makes."""
        known = iter(zip(self.rows, self.trial, strict=True))

        def trial(row: int) -> Trial:
            earlier, result = next(known, (row, None))
            if earlier != row:
                raise UserError(
                    f"the earlier start tried row {earlier} of its map where this one would try "
                    f"{row}: it had another map; leave out --resume to begin anew"
                )
            return make(row) if result is None else result

        return trial
