"""Codecs that cut a vector into blocks, each with a scale of its own.

The payload is all scales, then all codes.  Scales are chosen so that decoded numbers, encoded again, give the same
scale and the same codes: members that repeat a mean repeat it bit for bit.  A block with anything in it that is not
finite gets a NaN as scale, so all of it decodes to NaN and its receiver drops it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from core.base.arrays import np
from core.codecs.codec import LEAST_STEP, Codec, Vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

STRIP: Final = 65_536
"""Numbers worked on at a time, so that what is in between stays in the processor's cache."""

Matrix: TypeAlias = "NDArray[np.float32]"
"""Blocks as rows."""
Scales: TypeAlias = "NDArray[np.float32]"
Bytes: TypeAlias = "NDArray[np.uint8]"


class Blockwise(Codec):
    """What all of them have in common.  A new one says how a matrix of blocks becomes scales and codes, and back."""

    BLOCK: ClassVar[int]
    """Numbers in a block; even.  The last block of a payload may be shorter."""
    SCALE_BYTES: ClassVar[int]
    """Number of bytes of a scale on the wire, 4 or 2: the upper ones of a little-endian float32."""
    CODE_BITS: ClassVar[int]

    @abstractmethod
    def _pack(self, blocks: Matrix, scales: Scales, codes: Bytes) -> None:
        """Write scales, one a row, and codes, flat, for `blocks`."""

    @abstractmethod
    def _unpack(self, scales: Scales, codes: Bytes, blocks: Matrix) -> None:
        """The codec decodes `codes` by their scales into the rows of `blocks`, in place."""

    @abstractmethod
    def _lost(self, sizes: Matrix, peaks: Scales) -> float:
        """Upper bound on the sum of squares that blocks have lost.

        Args:
            sizes: Magnitudes of their decoded numbers, one block a row.
            peaks: The largest magnitude of each.
        """

    def error(self, values: Vector, start: int = 0) -> float:
        """A number loses up to half the distance of the codes around it."""
        del start
        lost = LEAST_STEP**2 * values.size
        for _, begin, end in self._pieces(values.size):
            sizes = np.abs(values[begin:end].reshape(-1, min(end - begin, self.BLOCK)))
            lost += self._lost(sizes, sizes.max(axis=1))
        return math.sqrt(lost)

    def _length(self, numel: int, _start: int) -> int:
        return self._blocks(numel) * self.SCALE_BYTES + self._code_bytes(numel)

    def _encode(self, values: Vector, _start: int) -> memoryview:
        payload = np.empty(self.max_bytes(values.size), dtype=np.uint8)
        scales = np.empty(self._blocks(values.size), dtype=np.float32)
        head = scales.size * self.SCALE_BYTES
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            for first, begin, end in self._pieces(values.size):
                rows = values[begin:end].reshape(-1, min(end - begin, self.BLOCK))
                codes = payload[head + self._code_bytes(begin) : head + self._code_bytes(end)]
                self._pack(rows, scales[first : first + len(rows)], codes)
        payload[:head].view(f"<u{self.SCALE_BYTES}")[:] = self._wired(scales.astype("<f4", copy=False))
        return payload.data

    def _decode(self, payload: memoryview, out: Vector, _start: int) -> None:
        scales = np.zeros(self._blocks(out.size), dtype="<f4")
        head = scales.size * self.SCALE_BYTES
        self._wired(scales)[:] = np.frombuffer(payload[:head], dtype=f"<u{self.SCALE_BYTES}")
        codes = np.frombuffer(payload[head:], dtype=np.uint8)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for first, begin, end in self._pieces(out.size):
                rows = out[begin:end].reshape(-1, min(end - begin, self.BLOCK))
                piece = codes[self._code_bytes(begin) : self._code_bytes(end)]
                self._unpack(scales[first : first + len(rows)], piece, rows)

    def _wired(self, scales: Scales) -> NDArray[np.unsignedinteger]:
        """The upper bytes of scales, as a view."""
        skipped = 4 // self.SCALE_BYTES
        return scales.view(f"<u{self.SCALE_BYTES}")[skipped - 1 :: skipped]

    def _blocks(self, numel: int) -> int:
        return -(-numel // self.BLOCK)

    def _code_bytes(self, numel: int) -> int:
        return -(-numel * self.CODE_BITS // 8)

    def _pieces(self, numel: int) -> Iterator[tuple[int, int, int]]:
        """First block, begin and end of each piece: whole blocks together, then the last one, if it is shorter."""
        full = numel - numel % self.BLOCK
        for begin in range(0, full, STRIP):
            yield begin // self.BLOCK, begin, min(begin + STRIP, full)
        if full < numel:
            yield full // self.BLOCK, full, numel
