"""Eight-bit states against brute force, and against bitsandbytes where it is installed."""

from pathlib import Path

import numpy as np
import pytest
import torch

from core.base.content import digest
from core.training.optimizers import Optimizer, optimizer_of
from core.training.optimizers.blockwise import SHARING, SMALL, Codes, EightBits, code_book
from core.training.optimizers.exact import BLOCK, blocks
from core.training.states.checkpoint import Checkpoints
from core.training.vectors.flat import FlatParameters, Span

BOTH = pytest.mark.parametrize("signed", [True, False])
MANIFEST = digest(b"manifest")
UNEVEN = (Span("large", 0, (3 * BLOCK + 5,)), Span("small", 3 * BLOCK + 5, (7, 3)), Span("last", 49_178, (SMALL,)))
NUMEL = UNEVEN[-1].stop


def nearest(numbers: np.ndarray, book: np.ndarray) -> np.ndarray:
    """The place of the nearest value, of two the lower, by looking at all of them in double precision."""
    return np.concatenate(
        [
            np.abs(part[:, None].astype(np.float64) - book).argmin(1)
            for part in np.array_split(numbers, 1 + len(numbers) // 5000)
        ]
    )


def spread(count: int, *, signed: bool, seed: int = 0) -> np.ndarray:
    """Numbers of many magnitudes."""
    generator = np.random.default_rng(seed)
    numbers = generator.normal(size=count) * 10.0 ** generator.uniform(-9, 0, count)
    return (numbers if signed else np.abs(numbers)).astype(np.float32)


@BOTH
def test_code_book_has_seven_decades(*, signed: bool) -> None:
    book = code_book(signed=signed).tolist()
    assert len(set(book)) == 256
    assert book == sorted(book)
    assert (max(book), book.count(0.0)) == (1.0, 1)
    assert min(book) == (pytest.approx(-0.9929688) if signed else 0.0)
    for decade in range(7):
        within = [value for value in book if 10.0 ** (decade - 7) < value < 10.0 ** (decade - 6)]
        assert len(within) == 2**decade * (1 if signed else 2)
        assert np.allclose(np.diff(within, n=2), 0, atol=1e-7)


@BOTH
def test_codes_are_those_of_the_nearest_values(*, signed: bool) -> None:
    book = code_book(signed=signed)
    limits = ((book[1:].astype(np.float64) + book[:-1]) / 2).astype(np.float32)
    beside = [np.nextafter(limits, np.float32(end)) for end in (-2, 2)]
    edges = (np.arange(2**16, dtype=np.uint32) << 16).view(np.float32)
    lasts = ((np.arange(2**16, dtype=np.uint32) << 16) | 0xFFFF).view(np.float32)
    numbers = np.concatenate(
        [limits, *beside, book, edges, lasts, spread(20_000, signed=signed), np.float32([-0.0, 1e-45])]
    )
    numbers = numbers[np.abs(numbers) <= 1]
    assert np.array_equal(Codes(signed=signed).of(numbers), nearest(numbers, book))


def stored(storage: EightBits, numbers_N: np.ndarray) -> np.ndarray:
    """The numbers after they were kept and read again."""
    found = np.empty_like(numbers_N)
    spread_over = [block for span in UNEVEN for block in blocks(span.start, span.stop)]
    for block in spread_over:
        kept = storage.read(block)
        kept[:] = numbers_N[block]
        storage.write(block, kept)
    for block in spread_over:
        found[block] = storage.read(block)
    return found


@BOTH
def test_numbers_are_kept_block_by_block(*, signed: bool) -> None:
    numbers_N, book = spread(NUMEL, signed=signed), code_book(signed=signed)
    numbers_N[2 * SHARING : 3 * SHARING] = 0
    storage = EightBits("m", UNEVEN, signed=signed)
    stored(storage, np.full(NUMEL, 1e6, np.float32))  # which nothing may remember
    found_N = stored(storage, numbers_N)
    small = UNEVEN[1]
    assert np.array_equal(found_N[small.start : small.stop], numbers_N[small.start : small.stop])
    for span in (UNEVEN[0], UNEVEN[2]):
        for start in range(span.start, span.stop, SHARING):
            part = slice(start, min(start + SHARING, span.stop))
            scale = np.abs(numbers_N[part]).max()
            expected = book[nearest(numbers_N[part] / (scale or 1), book)] * scale
            assert np.array_equal(found_N[part], expected)


@BOTH
def test_what_was_kept_stays_when_kept_again(*, signed: bool) -> None:
    storage = EightBits("m", UNEVEN, signed=signed)
    numbers_N = spread(NUMEL, signed=signed)
    numbers_N[::5] = 5.0  # the book has 1, and no -1
    once_N = stored(storage, numbers_N)
    tensors = {name: tensor.clone() for name, tensor in storage.tensors.items()}
    assert np.array_equal(stored(storage, once_N), once_N)
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in storage.tensors.items())


def test_two_moments_take_at_most_2_1_bytes() -> None:
    flat = FlatParameters(torch.nn.Linear(1024, 1024))
    state = optimizer_of({"name": "lamb", "bits": 8}, flat).state
    assert sum(tensor.nbytes for tensor in state.values()) <= 2.1 * flat.numel
    assert {name: tensor.dtype for name, tensor in state.items()} == {
        "m": torch.uint8,
        "m_scales": torch.float32,
        "m_small": torch.float32,
        "v": torch.uint8,
        "v_scales": torch.float32,
        "v_small": torch.float32,
    }


@BOTH
def test_codes_are_as_near_as_those_of_bitsandbytes(*, signed: bool) -> None:
    functional = pytest.importorskip("bitsandbytes.functional", reason="bitsandbytes is large, and not a dependency")
    book = functional.create_dynamic_map(signed=signed)
    assert np.allclose(book.numpy(), code_book(signed=signed), rtol=0, atol=1e-7)
    numbers_N = spread(64 * SHARING, signed=signed)
    codes, state = functional.quantize_blockwise(torch.from_numpy(numbers_N), code=book, blocksize=SHARING)
    theirs_N = functional.dequantize_blockwise(codes, state).numpy()
    span = Span("one", 0, (len(numbers_N),))
    storage = EightBits("m", [span], signed=signed)
    kept = storage.read(slice(0, len(numbers_N)))
    kept[:] = numbers_N
    storage.write(slice(0, len(numbers_N)), kept)
    ours_N = storage.read(slice(0, len(numbers_N)))
    scales_N = np.repeat(np.abs(numbers_N.reshape(-1, SHARING)).max(1), SHARING)
    ours, others = (np.abs(kept_N - numbers_N) / scales_N for kept_N in (ours_N, theirs_N))
    assert (ours <= others + 1e-6).all()
    assert (np.abs(ours_N - theirs_N) <= 1e-6 * scales_N)[np.abs(numbers_N) > 1e-3 * scales_N].mean() > 0.98


class PlainEightBits:
    """AdamW in double precision, whose moments are rounded after each step by looking at all codes."""

    def __init__(self, values_N: np.ndarray, rate: float) -> None:
        self.values_N, self.rate = values_N.astype(np.float64), rate
        self.m_N = self.v_N = np.zeros(len(values_N))
        self.taken = 0

    def step(self, gradient_N: np.ndarray) -> None:
        self.taken += 1
        m_N = 0.9 * self.m_N + 0.1 * gradient_N
        v_N = 0.999 * self.v_N + 0.001 * gradient_N**2
        m_free, v_free = m_N / (1 - 0.9**self.taken), v_N / (1 - 0.999**self.taken)
        self.values_N = self.values_N * (1 - self.rate * 0.01) - self.rate * m_free / (np.sqrt(v_free) + 1e-8)
        self.m_N, self.v_N = self.rounded(m_N, signed=True), self.rounded(v_N, signed=False)

    @staticmethod
    def rounded(numbers_N: np.ndarray, *, signed: bool) -> np.ndarray:
        book = code_book(signed=signed).astype(np.float64)
        scale_N = np.repeat(np.abs(numbers_N.reshape(-1, SHARING)).max(1), SHARING)
        return book[nearest(numbers_N / scale_N, book)] * scale_N


def wide(name: str = "adamw") -> tuple[Optimizer, FlatParameters]:
    torch.manual_seed(1)
    flat = FlatParameters(torch.nn.Linear(128, 160, bias=False))
    numbers = {"name": name, "bits": 8, "learning_rate": 0.01, "warmup_epochs": 0, "total_epochs": 10**9}
    return optimizer_of(numbers | {"max_grad_norm": 1e12}, flat), flat


def test_steps_in_eight_bits_follow_the_plain_algorithm() -> None:
    """A number on the limit between two codes may go either way, and is then off by a code's width: few are."""
    optimizer, flat = wide()
    plain = PlainEightBits(flat.values_N.numpy(), 0.01)
    generator = torch.Generator().manual_seed(2)
    for taken in range(8):
        gradient_N = torch.randn(flat.numel, generator=generator)
        plain.step(gradient_N.double().numpy())
        optimizer.step(gradient_N, taken=taken, epoch=taken)
    same = np.isclose(flat.values_N.numpy(), plain.values_N, rtol=1e-5, atol=1e-6)
    assert same.mean() > 0.999


@pytest.mark.parametrize("name", ["adamw", "lamb"])
def test_eight_bit_state_survives_save_and_load(name: str, tmp_path: Path) -> None:
    (old, flat_old), (new, flat_new) = wide(name), wide(name)
    generator = torch.Generator().manual_seed(2)
    gradients = [torch.randn(flat_old.numel, generator=generator) for _ in range(6)]
    for taken in range(3):
        old.step(gradients[taken].clone(), taken=taken, epoch=taken)
    saved = (
        Checkpoints(tmp_path / "old", manifest=MANIFEST, parameters=flat_old, state=old.state)
        .save(3, MANIFEST)
        .result()
    )
    copies = Checkpoints(tmp_path / "new", manifest=MANIFEST, parameters=flat_new, state=new.state)
    copies.load(saved.path)
    assert all(torch.equal(tensor, new.state[key]) for key, tensor in old.state.items())
    assert copies.save(3, MANIFEST).result().digest == saved.digest
    for taken in range(3, 6):
        for optimizer in (old, new):
            optimizer.step(gradients[taken].clone(), taken=taken, epoch=taken)
    assert torch.equal(flat_old.values_N, flat_new.values_N)
