"""Random projections of a chunk's numbers, and how sums of them travel."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from core.averaging.messages import SUM_BYTES, SUMS
from core.base.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.averaging.allreduce.vectors import Vector

Told: TypeAlias = "NDArray[np.float64]"
"""Sums; shape (shares, SUMS), or (members, SUMS)."""

WIDTH: Final = 256
"""Numbers in a row of a chunk, for its projections."""


@functools.cache  # made when it is needed: an engine that rests loads no numpy
def _table() -> NDArray[np.float32]:
    """A number of either sign for each byte, between 0.65 and 1.31, whose square is 1 in the mean."""
    drawn = np.array([(1 + (byte & 127) / 128) * (1 if byte & 128 else -1) for byte in range(256)])
    return (drawn / math.sqrt(np.mean(drawn**2))).astype(np.float32)


@functools.cache
def _signs() -> NDArray[np.float32]:
    """Eight signs for each byte: -1 for a bit that is set."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    return 1 - 2 * bits.astype(np.float32)


class Projection:
    """Random projections of one chunk; those of a vector have the mean square of its squared norm.

    The numbers get random signs, and what a projection weighs them by is the product of one drawn number for each place
    in a row and one for each row: so all take one matrix product, and few drawn numbers.

    Args:
        key: 32 bytes.
        place: Place of the chunk in the vector.
        numel: Numbers in it.
    """

    def __init__(self, key: bytes, place: int, numel: int) -> None:
        self._rows = -(-numel // WIDTH)
        cipher = Cipher(ChaCha20(key, bytes(4) + place.to_bytes(12, "big")), mode=None)
        across_at = self._rows * WIDTH // 8
        along_at = across_at + SUMS * WIDTH
        drawn = np.frombuffer(cipher.encryptor().update(bytes(along_at + self._rows * SUMS)), dtype=np.uint8)
        signs, across, along = drawn[:across_at], drawn[across_at:along_at], drawn[along_at:]
        self._signs = _signs().take(signs, axis=0, mode="clip").reshape(-1)[:numel]
        self._across = _table()[across].reshape(WIDTH, SUMS)
        self._along = _table()[along].reshape(self._rows, SUMS)
        self._padded = np.zeros(self._rows * WIDTH, dtype=np.float32)

    def of(self, values: Vector) -> NDArray[np.float64]:
        """The projections of numbers, shape (numel,); the result has the shape (SUMS,)."""
        np.multiply(values, self._signs, out=self._padded[: values.size])
        products = self._padded.reshape(self._rows, WIDTH) @ self._across
        found: NDArray[np.float64] = np.einsum("rs,rs->s", products, self._along, dtype=np.float64)
        return found


def packed(told: Told) -> bytes:
    """Sums as they go over the wire."""
    return told.astype("<f4").tobytes()


def unpacked(data: bytes, rows: int) -> Told | None:
    """Sums again, shape (rows, SUMS); None where they are not so many, or not finite."""
    if len(data) != rows * SUM_BYTES:
        return None
    found = np.frombuffer(data, dtype="<f4").astype(np.float64).reshape(rows, SUMS)
    return found if np.isfinite(found).all() else None


def root_mean_square(sums: Told) -> Any:
    """The root of the mean square along the last axis."""
    return np.sqrt(np.mean(np.square(sums), axis=-1))
