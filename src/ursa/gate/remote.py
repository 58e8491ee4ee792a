"""Remote: the stop button of the hand-held remote, out of the 40 bytes a robot passes on.

Two bytes of head (zero while the remote is off), two bytes of buttons, then the sticks.
"""

R2 = 0x0010  # the right trigger, free in low-level mode: our stop button
L2, B = 0x0020, 0x0200  # together: the maker's own gesture for damping


def stop_pressed(remote: bytes) -> bool:
    """Whether the operator is pressing stop: R2 alone, or L2 and B together."""
    buttons = int.from_bytes(remote[2:4], "little")
    return bool(buttons & R2) or buttons & (L2 | B) == L2 | B


def in_touch(remote: bytes) -> bool:
    """Whether the robot hears its remote."""
    return any(remote[:2])
