"""Packet: the bytes of the A1's two UDP packets, their layout and their checksum.

Little-endian and packed without gaps, as Unitree's low-level protocol 3.3 has them: 610 bytes of
command, 771 bytes of state, twenty places for motors of which the A1 uses twelve.
"""

from zlib import crc32

import numpy as np

TAU, KP, KD = 256, 32, 16  # steps per N m, N m / rad, N m s / rad
REMOTE_BYTES = 40
TICKS = 2**32  # a tick is one of so many, then they begin again

HEADER = (
    ("level", "u1"),  # LOW_LEVEL: joint commands, not the built-in walking
    ("version", "<u2"),
    ("robot", "<u2"),
    ("serial", "<u4"),
    ("band", "u1"),
)
COMMAND_MOTOR = np.dtype(
    [
        ("mode", "u1"),
        ("q", "<f4"),
        ("dq", "<f4"),
        ("tau", "<i2"),  # in steps of 1 / TAU
        ("kp", "<i2"),
        ("kd", "<i2"),
        ("reserve", "<u4", 3),
    ]
)
STATE_MOTOR = np.dtype(
    [
        ("mode", "u1"),
        ("q", "<f4"),
        ("dq", "<f4"),
        ("ddq", "<i2"),
        ("tau", "<i2"),
        ("q_raw", "<f4"),
        ("dq_raw", "<f4"),
        ("ddq_raw", "<i2"),
        ("temperature", "i1"),
        ("reserve", "<u4", 2),
    ]
)
COMMAND = np.dtype(
    [
        *HEADER,
        ("motor", COMMAND_MOTOR, 20),
        ("led", "u1", 12),
        ("remote", "u1", REMOTE_BYTES),
        ("reserve", "<u4"),
        ("crc", "<u4"),
    ]
)
STATE = np.dtype(
    [
        *HEADER,
        ("quaternion", "<f4", 4),
        ("gyro", "<f4", 3),
        ("acceleration", "<f4", 3),
        ("euler", "<f4", 3),
        ("imu_temperature", "i1"),
        ("motor", STATE_MOTOR, 20),
        ("foot", "<i2", 4),
        ("foot_estimate", "<i2", 4),
        ("tick", "<u4"),
        ("remote", "u1", REMOTE_BYTES),
        ("reserve", "<u4"),
        ("crc", "<u4"),
    ]
)
MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def checksum(words: bytes) -> int:
    """CRC-32/MPEG-2 over little-endian 32-bit words.

    That is zlib's CRC with every bit order reversed: of each word on the way in (byte order by
    numpy, bits by a table), of the result on the way out. Bit by bit it would eat a control cycle.
    """
    turned = np.frombuffer(words, "<u4").astype(">u4").tobytes().translate(MIRRORED)
    return int(f"{crc32(turned) ^ 0xFFFFFFFF:032b}"[::-1], 2)


def sealed(packet: np.ndarray) -> bytes:
    """The bytes of a packet with its checksum at the end."""
    data = packet.tobytes()
    return data[:-4] + checksum(data[: covered(packet.dtype)]).to_bytes(4, "little")


def covered(layout: np.dtype) -> int:
    """Bytes under the checksum. Whole words only: two or three bytes of a reserve stay outside."""
    return (layout.itemsize - 4) // 4 * 4


def newer(tick: int, than: int) -> bool:
    """Whether a tick comes after another, also when the counter began again in between."""
    return 0 < (tick - than) % TICKS < TICKS // 2
