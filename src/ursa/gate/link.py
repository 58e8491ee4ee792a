"""Link: UDP to one robot. Takes the newest state that arrived, sends one command, never waits.

Loopback unless told otherwise. Never raises while the robot is on: a pulled cable is counted, and
the gate sees it as states that grow old. Whoever leaves a `with Link(...)`, by whatever way, has
sent the limp command last.
"""

import socket
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from ursa.claim import Claim
from ursa.errors import UserError
from ursa.gate import drivers
from ursa.gate.packet import newer
from ursa.gate.remote import stop_pressed
from ursa.gate.wire import Command, Refused, State, decode_state, encode_command

ROBOT_PORT = 8007  # the A1 listens here
LONGEST = 2048  # bytes taken of a datagram: enough to see that it is too long
MOST = 64  # datagrams looked at in one cycle: a flood must not hold up the loop
FAREWELLS = 5  # limp commands on the way out, in case one gets lost

Address = tuple[str, int]


def address(link: str) -> Address:
    """Host and port of `udp://HOST:PORT`, as a user writes it."""
    try:
        parts = urlsplit(link)
        host, port = parts.hostname, parts.port or ROBOT_PORT
        rest = parts.path + parts.query + parts.fragment + (parts.username or "")
        if parts.scheme == "udp" and host and not rest:
            return socket.gethostbyname(host), port
        why = "not of that form"
    except ValueError as error:  # a port that is no number
        why = str(error)
    except OSError:
        why = "no such host"
    raise UserError(
        f'link "{link}": {why}; want udp://HOST:PORT, such as udp://127.0.0.1:{ROBOT_PORT} '
        f"for an emulator or udp://192.168.123.10:{ROBOT_PORT} for an A1 on its cable"
    )


def newest(
    datagrams: Iterable[bytes], last: int | None, counts: Counter[str]
) -> State | Refused | None:
    """The state with the latest tick of some that arrived together; a bad one if all are bad.

    A stop button pressed in a state that was overtaken, or refused for what a sensor says, still
    counts as pressed.
    """
    best, refused, pressed = None, None, None
    for data in datagrams:
        counts["received"] += 1
        state = decode_state(data)
        if stop_pressed(state.remote):
            pressed = state.remote
        if isinstance(state, Refused):
            counts[f"bad {state.reason}"] += 1
            refused = replace(state, data=data)
            continue
        before = last if best is None else best.tick
        if before is not None and not newer(state.tick, before):
            counts["repeated" if state.tick == before else "reordered"] += 1
        if best is None:
            best = state
        elif newer(state.tick, best.tick):
            counts["overtaken"] += 1
            best = state
    found = best if best is not None else refused
    return found if found is None or pressed is None else replace(found, remote=pressed)


class Link:
    """A socket between the gate and one robot."""

    def __init__(
        self,
        robot: Address,
        limp: Command,
        local: Address | None = None,
        folder: Path | None = None,
    ) -> None:
        """`folder` is that of the run, for whoever asks who drives this robot."""
        self.robot = robot
        self._claim = claimed(robot, folder)
        self.counts: Counter[str] = Counter()
        self._limp = encode_command(limp)
        self._last: int | None = None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            self._socket.bind(local or (_facing(robot), 0))
        except OSError as error:
            self._socket.close()
            self._claim.close()
            raise UserError(
                f"link: cannot listen on {local or robot}: {error.strerror}; is another run using "
                "it, and does this machine have that address?"
            ) from None

    @property
    def local(self) -> Address:
        """Where the robot's packets have to be sent."""
        return self._socket.getsockname()

    def receive(self) -> State | Refused | None:
        """The newest state that has arrived since the last call, or None."""
        found = newest(self._waiting(), self._last, self.counts)
        if isinstance(found, State):
            self._last = found.tick
        return found

    def _waiting(self) -> Iterable[bytes]:
        for _ in range(MOST):
            try:
                data, sender = self._socket.recvfrom(LONGEST)
            except BlockingIOError:
                return
            except OSError:
                self.counts["unreceived"] += 1
                return
            if sender == self.robot:
                yield data
            else:
                self.counts["foreign"] += 1

    def send(self, command: Command) -> bool:
        """Send a command; one that cannot be packed becomes the limp one. False: did not go out."""
        try:
            data = encode_command(command)
        except ValueError:
            self.counts["unsendable"] += 1
            data = self._limp
        return self._sent(data)

    def _sent(self, data: bytes) -> bool:
        try:
            self._socket.sendto(data, self.robot)
        except OSError:  # no cable, no route, or a full buffer: the next cycle tries again
            self.counts["unsent"] += 1
            return False
        self.counts["sent"] += 1
        return True

    def close(self) -> None:
        """Leave the robot limp and damped. May be called twice."""
        if self._socket.fileno() >= 0:
            for _ in range(FAREWELLS):
                self._sent(self._limp)
            self._socket.close()
            self._claim.close()

    def __enter__(self) -> "Link":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def claimed(robot: Address, folder: Path | None = None) -> Claim:
    """Hold a robot, or UserError: two gates on one robot would fight over its motors."""
    return _held(robot, "lock", folder)


def reserved(robot: Address, folder: Path | None = None) -> Claim:
    """Hold a robot for a whole run, before the first packet and between two gates; or UserError.

    Gates come and go, each with the claim above. Two runs that start at once would both find the
    robot free of gates; of this claim only one gets hold.
    """
    return _held(robot, "run.lock", folder)


def _held(robot: Address, suffix: str, folder: Path | None) -> Claim:
    path = drivers.lock(*robot, suffix)
    found = Claim(path, Path(f"the robot at {robot[0]}:{robot[1]}"), "end it first")
    if folder is not None:
        drivers.sign(path, folder)
    return found


def _facing(robot: Address) -> str:
    """This machine's address on the way to the robot: never all of its networks at once."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        probe.connect(robot)  # sends nothing
        return probe.getsockname()[0]
    except OSError as error:
        raise UserError(
            f"link: no way to {robot[0]}: {error.strerror}; plug in the cable and give this "
            "machine an address in the robot's network"
        ) from None
    finally:
        probe.close()
