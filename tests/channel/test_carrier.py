"""What two machines say to each other: each frame opens once, in its place, for who has the key."""

import inspect
import random
from multiprocessing import connection
from pathlib import Path

import pytest

from log.logs import LAYOUT, step
from ursa.channel import carrier, channel, secret
from ursa.channel.carrier import Broken, Hello, Kind, Taken, Unwanted, Welcome
from ursa.errors import UserError

KEY, OTHER = b"k" * 64, b"o" * 64
SESSION = carrier.session("ab", "cd")
SIZE = LAYOUT.kind.size
ROWS = carrier.rows(7, 7, [step(7), step(8)])
HELLO = Hello(run="r" * 32, layout="{}", size=3, config={}, live={}, nonce="ab")


def sealed(number, payload, key=KEY, speaker=carrier.ROBOT, session=SESSION):
    return carrier.seal(key, speaker, session, number, Kind.ROWS, payload)


def strange_frames():
    """What may arrive in the place of frame 5, each with its name; none of it is frame 5."""
    good = sealed(5, ROWS)
    rng = random.Random(3)
    for length in (0, 1, 31, 32, 40, 41, len(good) // 2, len(good) - 1):
        yield f"cut to {length}", good[:length]
    for _ in range(300):
        at, bit = rng.randrange(len(good)), 1 << rng.randrange(8)
        yield f"byte {at} changed", good[:at] + bytes([good[at] ^ bit]) + good[at + 1 :]
    yield "longer", good + b"\0"
    yield "repeated", sealed(4, ROWS)
    yield "reordered", sealed(6, ROWS)
    yield "of another conversation", sealed(5, ROWS, session=carrier.session("ab", "ce"))
    yield "sent back to its sender", sealed(5, ROWS, speaker=carrier.LEARNER)
    yield "of another key", sealed(5, ROWS, key=OTHER)
    yield "with no key", bytes(carrier.DIGEST) + good[carrier.DIGEST :]


def believed():
    """The names of strange frames that were taken for frame 5."""
    found = []
    for name, frame in strange_frames():
        try:
            carrier.unseal(KEY, carrier.ROBOT, SESSION, 5, frame)
        except Broken:
            continue
        found.append(name)
    return found


def test_a_frame_opens_as_what_it_was():
    assert carrier.unseal(KEY, carrier.ROBOT, SESSION, 5, sealed(5, ROWS)) == (Kind.ROWS, ROWS)


def test_of_315_strange_frames_none_is_believed():
    assert len(list(strange_frames())) == 315
    assert believed() == []


def test_without_the_digest_changed_frames_are_believed(monkeypatch):
    monkeypatch.setattr(carrier.hmac, "compare_digest", lambda one, two: True)
    assert any("changed" in name for name in believed())
    assert "of another conversation" in believed()


def test_without_key_and_conversation_in_the_digest_a_stranger_is_believed(monkeypatch):
    plain = carrier._digest
    monkeypatch.setattr(carrier, "_digest", lambda k, w, s, *parts: plain(KEY, b"", b"", *parts))
    assert set(believed()) == {
        *("of another conversation", "sent back to its sender", "of another key"),
    }


def test_without_the_number_a_repeated_frame_is_believed(monkeypatch):
    real = carrier.HEAD

    class Forgetful:
        size, pack = real.size, real.pack

        @staticmethod
        def unpack(head):
            return 5, real.unpack(head)[1]

    monkeypatch.setattr(carrier, "HEAD", Forgetful)
    assert believed() == ["repeated", "reordered"]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        ROWS[:-1],
        ROWS + b"\0",
        carrier.ROWS.pack(7, 7, 3) + step(7) + step(8),  # three are announced
        carrier.ROWS.pack(8, 7, 1) + step(7),  # before the end of the copy
        carrier.ROWS.pack(0, 2**63, 0),
        carrier.ROWS.pack(0, 0, 513) + 513 * step(7),  # more than fit into a frame
        carrier.ROWS.pack(0, 0, 2**32 - 1),
    ],
    ids=lambda it: f"{len(it)} bytes",
)
def test_rows_that_are_not_what_their_head_says_are_refused(payload):
    with pytest.raises(Broken):
        carrier.unrows(payload, SIZE)


def test_rows_come_back_with_their_numbers():
    assert carrier.unrows(ROWS, SIZE) == (7, 7, [step(7), step(8)])
    assert carrier.unrows(carrier.rows(4, 6, []), SIZE) == (4, 6, [])
    longest = carrier.rows(0, 0, [step(0)] * carrier.MOST)
    assert len(longest) <= carrier.most(SIZE)


@pytest.mark.parametrize(
    "said", [HELLO, Welcome(end=3, last="", nonce="cd"), Taken(end=3, said={"seen": 2})], ids=str
)
def test_of_1000_changed_messages_none_does_more_than_be_refused(said):
    good, rng = carrier.pack(said), random.Random(5)
    assert carrier.unpack(type(said), good) == said
    refused = 0
    for _ in range(1000):
        raw = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(len(raw))] = rng.choice(b'{}[]":,-019eE.truefalsn \xff\x00')
        try:
            carrier.unpack(type(said), bytes(raw))
        except (Broken, Unwanted):
            refused += 1
    assert refused > 500


@pytest.mark.parametrize("number", ["-1", "true", "1.5", "9223372036854775808", '"1"', "null"])
def test_a_number_that_is_no_number_of_rows_is_refused(number):
    text = carrier.pack(Taken(end=3)).replace(b'"end": 3', f'"end": {number}'.encode())
    with pytest.raises(Broken, match="end"):
        carrier.unpack(Taken, text)


def test_another_format_is_named_with_what_to_do():
    text = carrier.pack(HELLO).replace(b'"format": 1', b'"format": 2')
    with pytest.raises(Unwanted, match="format 2, this one 1: install the same version"):
        carrier.unpack(Hello, text)


def test_a_policy_is_whole_or_refused(monkeypatch):
    whole = carrier.policy(4, b"weights")
    assert carrier.unpolicy(whole) == (4, b"weights")
    later = carrier.VERSION.pack(5) + whole[8:]
    for bad in (later, whole[:-1], whole + b"s", whole[:10], whole[:-1] + b"t"):
        with pytest.raises(Broken):
            carrier.unpolicy(bad)
    monkeypatch.setattr(carrier.handover, "digest", lambda version, data: whole[8:24])
    assert carrier.unpolicy(later) == (5, b"weights")  # without the digest


def test_the_key_is_made_once_and_for_its_owner_alone(tmp_path):
    key = secret.make(tmp_path / "learner.key")
    assert len(key) == 64
    assert secret.make(tmp_path / "learner.key") == key != secret.make(tmp_path / "another")
    assert (tmp_path / "learner.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o660, 0o777])
def test_a_key_that_others_could_read_or_write_is_refused(tmp_path, mode, monkeypatch):
    path = tmp_path / "learner.key"
    secret.make(path)
    path.chmod(mode)
    with pytest.raises(UserError, match=f"permissions {mode:o}"):
        secret.read(path)
    monkeypatch.setattr(secret.stat, "S_IMODE", lambda _: 0o600)
    assert secret.read(path)  # without that look


def test_a_key_that_is_missing_short_or_no_file_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"cannot be read.*scp"):
        secret.read(tmp_path / "nowhere")
    with pytest.raises(UserError, match="no ordinary file"):
        secret.read(tmp_path)
    short = tmp_path / "short"
    short.touch(0o600)
    short.write_text("abc\n")
    with pytest.raises(UserError, match="has 3 letters and digits, want 64"):
        secret.read(short)


def test_an_address_is_one_or_is_refused():
    assert channel.tcp("tcp://127.0.0.1:9") == ("127.0.0.1", 9)
    assert channel.tcp("localhost") == ("localhost", channel.PORT)
    for text in ("udp://127.0.0.1:9", "tcp://", "tcp://host:port", "tcp://a:1/b", "tcp://u@a:1"):
        with pytest.raises(UserError, match="want tcp://HOST:PORT"):
            channel.tcp(text)


def test_other_machines_can_call_only_where_somebody_said_so():
    for host in ("127.0.0.1", "::1", "localhost"):
        channel.refuse_exposed((host, 1), exposed=False)
    for host in ("0.0.0.0", "192.168.1.2", "::", "somewhere"):
        with pytest.raises(UserError, match=r"ssh -N -L 1:127\.0\.0\.1:1"):
            channel.refuse_exposed((host, 1), exposed=False)
        channel.refuse_exposed((host, 1), exposed=True)


def test_nothing_here_uses_the_calls_that_unpickle():
    above = [f"live/{name}.py" for name in ("desk", "carrying", "replica", "learn_command")]
    for file in ("channel/channel.py", "channel/carrier.py", *above):
        source = (Path(carrier.__file__).parents[1] / file).read_text()
        assert not {".recv(", ".send(", "pickle.", "Listener(", "Client("} & _calls(source)


def _calls(source):
    wanted = (".recv(", ".send(", "pickle.", "Listener(", "Client(")
    return {word for word in wanted if word in source}


def test_the_handshake_of_this_python_reads_bounded_bytes_only():
    for step_ in (connection.deliver_challenge, connection.answer_challenge):
        source = inspect.getsource(step_)
        assert not _calls(source)
        assert source.count("recv_bytes(") == source.count("recv_bytes(256)") > 0
