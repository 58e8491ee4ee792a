"""Weather: what a link does to datagrams. Latency, jitter, loss, doubles, overtaking, damage.

A pure account: given the weather, the number of the datagram and when it was sent, when which
bytes arrive. Datagrams keep their order, however they jitter, unless one is picked to be overtaken.
"""

from dataclasses import dataclass, fields

from ursa.emulator.chance import Stream
from ursa.errors import UserError
from ursa.robot.number import number

DRAWS = 8  # numbers that decide the fate of one datagram
SHARES = ("loss", "duplicate", "reorder", "corrupt")


@dataclass(frozen=True, kw_only=True)
class Weather:
    """Of both directions. Seconds, and shares of the datagrams."""

    latency: float = 0.0  # s
    jitter: float = 0.0  # s: up to this much more
    loss: float = 0.0  # never arrive
    duplicate: float = 0.0  # arrive twice
    reorder: float = 0.0  # arrive up to `behind` later, overtaken by others
    corrupt: float = 0.0  # arrive with some bytes changed, or cut short
    behind: float = 0.01  # s

    def __post_init__(self) -> None:
        for each in fields(self):
            number(f"link.{each.name}", getattr(self, each.name), least=0)
        for name in SHARES:
            if getattr(self, name) > 1:
                raise UserError(f"link.{name} = {getattr(self, name)}, want a share from 0 to 1")

    @property
    def longest(self) -> float:
        """Seconds that a datagram can take."""
        return self.latency + self.jitter + (self.behind if self.reorder + self.duplicate else 0)

    def worse(self, other: "Weather") -> "Weather":
        """Both at once: the larger of every number."""
        names = [each.name for each in fields(self)]
        return Weather(**{name: max(getattr(self, name), getattr(other, name)) for name in names})


CALM = Weather()


class Way:
    """One direction of a link: numbers the datagrams and keeps them in order."""

    def __init__(self, seed: int, name: str) -> None:
        self._stream = Stream(seed, f"link {name}", DRAWS)
        self._number = 0
        self._latest = 0.0
        self.counts = dict.fromkeys(("sent", *SHARES), 0)

    def carry(self, weather: Weather, now: float, data: bytes) -> list[tuple[float, bytes]]:
        """When what arrives of a datagram that is sent now."""
        lost, twice, overtaken, damaged, late, behind, where, what = self._stream.draw(self._number)
        self._number += 1
        self.counts["sent"] += 1
        if lost < weather.loss:
            self.counts["loss"] += 1
            return []
        if damaged < weather.corrupt:
            self.counts["corrupt"] += 1
            data = damage(data, float(where), float(what))
        at = max(now + weather.latency + weather.jitter * float(late), self._latest)
        if overtaken < weather.reorder:
            self.counts["reorder"] += 1
            arrivals = [(at + weather.behind * float(behind), data)]
        else:
            self._latest = at
            arrivals = [(at, data)]
        if twice < weather.duplicate:
            self.counts["duplicate"] += 1
            arrivals.append((at + weather.behind * float(where), data))
        return arrivals


def damage(data: bytes, where: float, what: float) -> bytes:
    """A datagram after a bad cable: cut short, or with up to four bytes changed."""
    if what < 0.2:
        return data[: int(where * len(data))]
    bad = bytearray(data)
    for turn in range(1, 2 + int(4 * what) % 4):
        at = int(where * 997 * turn * len(data)) % len(data)
        bad[at] ^= 1 + int(what * 254)
    return bytes(bad)
