"""Spells: what comes packet after packet is told when it begins, and then now and then by number.

The gate finds and counts every bad or repeated packet; a file with a line for each would grow by
hundreds of lines a second for as long as a cable is bad. So the first of a kind is told as it is,
those that follow are summed up in one line: when there was none for a second, or once a minute.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ursa.gate.modes import Event, Kind

QUIET = 1.0  # s without another, then a spell is over
LONGEST = 60.0  # s, then what came so far is told
CROWDS = frozenset(
    {Kind.BAD_PACKET, Kind.REPEATED_PACKET, Kind.REORDERED_PACKET, Kind.OLD_WISH, Kind.STOP}
)

Key = tuple[Kind, str]


@dataclass(frozen=True, kw_only=True)
class Spell:
    """What came of a kind since something was told of it."""

    told: float  # when that was
    latest: float  # when the last one came
    event: Event  # and what it said
    more: int = 0  # that came since


Spells = dict[Key, Spell]


def spoken(now: float, events: Iterable[Event], spells: Spells) -> tuple[list[Event], Spells]:
    """What of a cycle's events is to be told, with the spells that ended; and those that last."""
    spells, told = dict(spells), []
    for event in events:
        if event.kind not in CROWDS:
            told.append(event)
            continue
        key = event.kind, event.detail if event.kind is Kind.STOP else ""  # whose stop it is
        spell = spells.get(key)
        if spell is None:
            told.append(event)
            spells[key] = Spell(told=now, latest=now, event=event)
        else:
            spells[key] = replace(spell, latest=now, event=event, more=spell.more + 1)
    for key, spell in list(spells.items()):
        over = not 0 <= now - spell.latest < QUIET  # also when the clock ran backwards, or is none
        if spell.more and (over or now - spell.told >= LONGEST):
            told.append(_summed(spell))
            spells[key] = replace(spell, told=now, more=0)
        if over:
            del spells[key]
    return told, spells


def _summed(spell: Spell) -> Event:
    seconds = spell.latest - spell.told
    said = f"{spell.more} more in {seconds:.1f} s, the last: {spell.event.detail}"
    return replace(spell.event, detail=said)
