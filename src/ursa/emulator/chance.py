"""Chance: numbered draws of named streams. Draw n of a stream is the same whoever asks and when."""

import zlib

import numpy as np
from jaxtyping import Float

Array = np.ndarray
BLOCK = 256  # draws made at once: a generator per draw would cost more than the draw


class Stream:
    """Rows of `width` numbers, by number: uniform in [0, 1), or normal."""

    def __init__(self, seed: int, name: str, width: int, normal: bool = False) -> None:
        self._key = np.array([seed, zlib.crc32(name.encode())], np.uint64)
        self._width, self._normal = width, normal
        self._block, self._rows = -1, np.zeros((BLOCK, width))

    def draw(self, number: int) -> Float[Array, " w"]:
        """Row `number`, from 0 on."""
        block, row = divmod(number, BLOCK)
        if block != self._block:
            bits = np.random.Philox(key=self._key, counter=[0, 0, 0, block])
            generator = np.random.Generator(bits)
            draw = generator.standard_normal if self._normal else generator.random
            self._block, self._rows = block, draw((BLOCK, self._width))
        return self._rows[row]
