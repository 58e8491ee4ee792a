"""Delivery: pictures of one show appear in their folder together, or none of them does."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ursa import durable
from ursa.show.film import WRITERS

ROOM = 4_000_000  # bytes, about


@contextmanager
def delivered(out: Path) -> Iterator[Path]:
    """A folder to draw into; at the end of the block its files go to `out`.

    Earlier ones of the same name go, whatever they were written as. A block that fails or is
    interrupted changes nothing.
    """
    with (
        durable.room_for("pictures and videos", out, ROOM),
        tempfile.TemporaryDirectory(prefix=".new-", dir=out) as made,
    ):
        yield Path(made)
        fresh = sorted(Path(made).iterdir())
        for path in fresh:
            durable.rename(path, out / path.name)
        names = {path.name for path in fresh}
        for old in {f"{path.stem}{kind}" for path in fresh for kind in WRITERS} - names:
            (out / old).unlink(missing_ok=True)
