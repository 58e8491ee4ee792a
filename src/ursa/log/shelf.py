"""Shelf: the volumes of a ledger in a folder, in order, and everything that is wrong with them.

    steps-000001.db   steps-000001.ack   volume and witness; the next writer makes 000002

A volume counts from its own begin to the begin of the next; the last one to where its witness
says that records were acknowledged. Every number in between must be there, once and whole: what
is not is a fault with its range, and is never served.
"""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ursa.errors import UserError
from ursa.log import witness
from ursa.log.volume import CHUNK, About, Kind, OtherFormat, Pages
from ursa.log.witness import Said

OPEN = 8  # volumes that a reader looks into at a time


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Records that are not what was written; `str` says it to a person."""

    kind: str  # missing, damaged, volume (a whole file), witness (nothing need be lost)
    first: int
    end: int  # the first number after
    detail: str

    def __str__(self) -> str:
        which = f"records {self.first} to {self.end - 1} ({self.end - self.first})"
        none = f"at record {self.first}"
        return f"{self.kind}: {which if self.end > self.first else none}: {self.detail}"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One volume and the records that count in it."""

    number: int
    begin: int
    end: int
    why: str  # its file cannot be read; "" if it can


class Shelf:
    """A look at a ledger, beside its writer or after it."""

    def __init__(self, folder: Path, kind: Kind) -> None:
        """UserError if what is there is of another version or layout."""
        self._folder, self._kind = folder, kind
        self._names: tuple[str, ...] = ()
        self._known: dict[int, About] = {}
        self._open: dict[int, Pages] = {}
        self._faults: dict[tuple[str, int], Fault] = {}
        self.entries: list[Entry] = []
        self.end = 0  # the first number that was not acknowledged
        try:
            self.refresh()
        except UserError:
            self.close()
            raise

    @property
    def faults(self) -> list[Fault]:
        """What was found wrong so far, in the order of the records; `records` finds the rest."""
        return sorted(self._faults.values(), key=lambda fault: (fault.first, fault.kind))

    @property
    def newest(self) -> int:
        """The highest number of a volume; 0 if there is none."""
        return max((self._number(name) for name in self._names), default=0)

    def refresh(self) -> int:
        """See what was acknowledged meanwhile; returns `end`."""
        pattern = re.compile(rf"{re.escape(self._kind.name)}-\d{{6}}\.(db|ack)")
        names = (path.name for path in self._folder.iterdir()) if self._folder.exists() else ()
        self._names = tuple(sorted(name for name in names if pattern.fullmatch(name)))
        numbers = sorted({self._number(name) for name in self._names})
        found: list[Entry] = []
        for number in numbers:
            found.append(self._entry(number, found[-1].end if found else 0))
        ends = [entry.begin for entry in found[1:]] + [entry.end for entry in found[-1:]]
        self.entries = [
            replace(entry, end=max(entry.begin, end))
            for entry, end in zip(found, ends, strict=True)
        ]
        if found and found[0].begin > 0:
            self._note("missing", 0, found[0].begin, "the first volume is not there")
        for entry in self.entries:
            if entry.why and entry.end > entry.begin:
                self._note("volume", entry.begin, entry.end, entry.why)
        self.end = max(self.end, self.entries[-1].end if self.entries else 0)
        return self.end

    def records(self, first: int, end: int) -> Iterator[tuple[int, list[bytes]]]:
        """(number of the first, records that follow one another), of all in a range that are good.

        What is left out is in `faults`.
        """
        for entry in self.entries:
            at, stop = max(first, entry.begin), min(end, entry.end)
            if entry.why or at >= stop:
                continue
            pages = self._pages(entry.number)
            while at < stop:
                good, bad = pages.records(at, stop)
                upto = min(stop, at + CHUNK)
                yield from self._runs(entry, at, upto, good, bad)
                at = upto

    def unwitnessed(self) -> list[bytes]:
        """Records after `end` that a dead writer committed but could not acknowledge any more."""
        last = self.entries[-1] if self.entries else None
        return self._from(last.number, last.end) if last and not last.why else []

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def _runs(
        self, entry: Entry, at: int, stop: int, good: dict[int, bytes], bad: set[int]
    ) -> Iterator[tuple[int, list[bytes]]]:
        """Cut a range into what can be served and what is noted."""
        label = {number: "damaged" if number in bad else "missing" for number in range(at, stop)}
        label |= dict.fromkeys(good, "")
        while at < stop:
            upto = at + 1
            while upto < stop and label[upto] == label[at]:
                upto += 1
            if not label[at]:
                yield at, [good[number] for number in range(at, upto)]
            else:
                why = "wrong checksum or page" if label[at] == "damaged" else "not in the file"
                self._note(label[at], at, upto, f"{self._path(entry.number, 'db').name}: {why}")
            at = upto

    def _entry(self, number: int, before: int) -> Entry:
        """A volume by its own word and its witness's; `before` is where the last one ended."""
        about, said, why = self._told(number)
        told = [it for it in (about, said) if it is not None]
        if any(it.number != number for it in told) or len({it.begin for it in told}) > 1:
            why, told, said = f"{self._path(number, 'db').name}: files were renamed", [], None
        begin = told[0].begin if told else before
        if said is not None or why:
            if not told:  # nobody knows how much: to the next volume, or from here on
                self._note("volume", begin, begin, why)
            end = said.end if said else begin
            if said and not said.whole and not why:
                # That slot was being written, after its commit; or it has rotted since. In both
                # cases all that follows in the volume was committed.
                end += len(self._from(number, end))
            return Entry(number=number, begin=begin, end=end, why=why)
        last = self._pages(number).last()
        detail = f"{self._path(number, 'ack').name} is missing or damaged, later ones may be lost"
        self._note("witness", last, last, detail)
        return Entry(number=number, begin=begin, end=last, why="")

    def _told(self, number: int) -> tuple[About | None, Said | None, str]:
        """What volume and witness say, and why the volume says nothing."""
        said = None
        with contextlib.suppress(FileNotFoundError):
            said = witness.read(self._path(number, "ack"))
        if number not in self._known:
            try:
                about = self._pages(number).about
            except OtherFormat as error:
                if said is None:
                    raise UserError(str(error)) from error
                return None, said, str(error)  # its witness is of our format: this is damage
            except ValueError as error:
                return None, said, str(error)
            if about.kind != self._kind:
                raise UserError(
                    f"{self._path(number, 'db')} holds {about.kind.name} laid out as "
                    f"{about.kind.layout}, want {self._kind.layout}: choose another folder"
                )
            self._known[number] = about
        return self._known[number], said, ""

    def _from(self, number: int, first: int) -> list[bytes]:
        """The records of a volume that follow one another from a number on."""
        pages, found = self._pages(number), []
        last = pages.last()
        while good := pages.records(first + len(found), last)[0]:
            while first + len(found) in good:
                found.append(good[first + len(found)])
            if max(good) != first + len(found) - 1:
                break
        return found

    def _pages(self, number: int) -> Pages:
        """Open a volume; few at a time, as each takes three file handles."""
        if number not in self._open:
            if len(self._open) >= OPEN:
                self.close()
            self._open[number] = Pages(self._path(number, "db"))
        return self._open[number]

    def _note(self, kind: str, first: int, end: int, detail: str) -> None:
        self._faults[kind, first] = Fault(kind=kind, first=first, end=end, detail=detail)

    def _path(self, number: int, suffix: str) -> Path:
        return self._folder / f"{self._kind.name}-{number:06d}.{suffix}"

    def _number(self, name: str) -> int:
        return int(name.removeprefix(f"{self._kind.name}-").partition(".")[0])
