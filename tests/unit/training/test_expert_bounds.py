"""What one account can do to an expert, with each bound and without it: hostile, and merely unlucky."""

import os

import numpy as np
import pytest
import torch

from core.base.mixture import ExpertOptimizer
from core.experts.queue import CallKind
from core.tasks.experts.blocks import new_expert
from core.training.experts import bounds
from core.training.experts.bounds import UsualNorm, row_norms, stale_bucket
from core.training.experts.hosted_expert import GradientCall, HostedExpert
from tests.unit.training.experts import ACCOUNTS, WIDTH, Hosted, numbers

SEEDS = 5 if os.environ.get("POTLUCK_LONG") else 1
STEPS = 100


class Class:
    """An expert that is to do what a fixed block does, and trainers that tell it how far it is off."""

    def __init__(self, seed=0, **odd):
        optimizer = ExpertOptimizer(name="sgd", learning_rate=0.3, momentum=0.9, max_grad_norm=1.0)
        self.numbers = numbers(optimizer=odd.pop("optimizer", optimizer), **{"step_rows": 16, **odd})
        student, self.teacher = (new_expert("ffn", width=WIDTH, factor=2, seed=number) for number in (seed, seed + 50))
        self.expert = HostedExpert(student, self.numbers, device="cpu", usual=UsualNorm())
        self.random = np.random.default_rng(seed)
        self.now = 0.0
        self.first = self.loss()

    def drawn(self, rows):
        return self.random.normal(0, 1, (rows, WIDTH)).astype(np.float32)

    def gradient(self, x):
        with torch.no_grad():
            rows = torch.from_numpy(x)
            return (self.expert.module(rows) - self.teacher(rows)).numpy() / WIDTH

    def teach(self, *calls):
        """Give gradients, all in one batch; returns those of the rows.

        Args:
            calls: Of each what `call` gives.
        """
        ends = np.cumsum([len(x) for x, _, _ in calls])
        given = [
            GradientCall(slice(int(end) - len(x), int(end)), **about)
            for end, (x, _, about) in zip(ends, calls, strict=True)
        ]
        self.now += 0.01
        x, g = (np.concatenate([call[part] for call in calls]).astype(np.float32) for part in (0, 1))
        return self.expert.backward(x, g, given, now=self.now)

    def call(self, account, factor=1.0, *, rows=4, counted=True, seen=None, pair=None):
        """A trainer's gradients.

        Args:
            account: Number of the account.
            factor: What they are multiplied by.
            rows: Number of samples.
            counted: Whether a round has counted the account's samples.
            seen: Version of the forward answer; None: the present one.
            pair: Rows and their gradients; None: new ones.
        """
        if pair is None:
            x = self.drawn(rows)
            pair = x, self.gradient(x)
        seen = self.expert.version if seen is None else seen
        return (
            pair[0],
            pair[1] * np.asarray(factor, np.float32),
            {"account": ACCOUNTS[account], "counted": counted, "seen": seen},
        )

    def loss(self):
        x = np.random.default_rng(99).normal(0, 1, (256, WIDTH)).astype(np.float32)
        return float((self.gradient(x) ** 2).sum(axis=1).mean())

    @property
    def left(self):
        """The part of the loss at the beginning that is left."""
        return self.loss() / self.first


def of_seeds(lesson):
    return float(np.median([lesson(seed) for seed in range(SEEDS)]))


# --- the norm of a row -----------------------------------------------------------------------------------------------


def scaled(seed, factor):
    """One of five trainers gives gradients that are larger by a factor."""
    lesson = Class(seed, optimizer=ExpertOptimizer(name="sgd", learning_rate=0.3, max_grad_norm=1e6))
    for _ in range(STEPS):
        lesson.teach(*(lesson.call(account, -factor if account == 4 else 1) for account in range(5)))
    return lesson.left


def test_scaled_gradients_of_one_account_do_not_undo_learning(monkeypatch):
    assert of_seeds(lambda seed: scaled(seed, 1e4)) < 0.5
    monkeypatch.setattr(bounds, "NORM_RATIO_MAX", 1e30)
    monkeypatch.setattr(UsualNorm, "size", lambda *_: 0.0)
    assert not of_seeds(lambda seed: scaled(seed, 1e4)) < 1, "the expert is lost"


def test_usual_norm_follows_most_accounts():
    usual = UsualNorm()
    assert usual.most == 0
    for account in range(5):
        for _ in range(3):
            usual.heard(ACCOUNTS[account], np.full(10, 1e9 if account >= 3 else account + 1, np.float32))
    assert usual.most == 3 * 3, "two of five do not move it far"
    norms = np.array([1, 9, 18, 1e30], np.float32)
    np.testing.assert_allclose(usual.scales(norms), [1, 1, 0.5, 9e-30], rtol=1e-6)
    usual.heard(ACCOUNTS[9], np.zeros(10, np.float32))
    assert usual.most == 9, "rows of zeros say nothing"


def test_norms_of_forgotten_accounts_make_room():
    usual = UsualNorm()
    for number in range(bounds.ACCOUNTS_KEPT + 50):
        usual.heard(number.to_bytes(2, "big"), np.full(200, number, np.float32))
    assert usual.most > 3 * 150


def test_norm_of_huge_rows_is_a_number():
    rows = np.array([[3, 4], [3e38, 3e38], [0, 0]], np.float32)
    norms = row_norms(rows)
    assert np.isfinite(norms).all()
    np.testing.assert_allclose(norms[[0, 2]], [5, 0])


def test_honest_rows_of_uneven_norms_are_learned_from():
    def uneven(seed, spread):
        lesson = Class(seed)
        for _ in range(STEPS):
            spreads = lesson.random.lognormal(0, spread, (5, 4, 1))
            lesson.teach(*(lesson.call(account, spreads[account]) for account in range(5)))
        return lesson.left

    assert of_seeds(lambda seed: uneven(seed, 1.0)) < 2 * of_seeds(lambda seed: uneven(seed, 0.0))


def test_gradient_of_a_clipped_row_is_told_whole():
    lesson = Class()
    lesson.teach(*(lesson.call(account) for account in range(3)))
    x = lesson.drawn(4)
    g = lesson.gradient(x) * np.array([[1], [1000], [1], [1]], np.float32)
    rows = torch.from_numpy(x).requires_grad_()
    (plain,) = torch.autograd.grad(lesson.expert.module(rows), rows, torch.from_numpy(g))
    dx = lesson.teach(lesson.call(0, pair=(x, g)))
    np.testing.assert_allclose(dx, plain.numpy(), rtol=1e-5)
    assert lesson.expert.clipped_rows >= 1


# --- the share of an account -----------------------------------------------------------------------------------------


def flooded(seed, *, factor=-1, floods=12, counted=True, honest=5, **odd):
    """One account sends many times as many gradients as each of the others, turned around."""
    lesson = Class(seed, **odd)
    for _ in range(STEPS):
        flood = [lesson.call(honest, factor, counted=counted) for _ in range(floods)]
        lesson.teach(*(lesson.call(account) for account in range(honest)), *flood)
    return lesson.left


def test_flood_of_turned_gradients_does_not_undo_learning(monkeypatch):
    assert of_seeds(flooded) < 0.6
    monkeypatch.setattr(bounds, "ASKING_MIN", 10**9)
    assert not of_seeds(flooded) < 1, "the flood decides"


def test_flood_of_large_turned_gradients_takes_more_of_its_share(monkeypatch):
    def thin(seed):
        return flooded(seed, factor=-3, step_rows=256, step_calls=10)

    assert of_seeds(thin) < 0.6
    monkeypatch.setattr(UsualNorm, "size", lambda *_: 0.0)
    assert not of_seeds(thin) < 1, "a third of the rows is most of the update"


def test_flood_between_updates_by_calls_does_not_undo_learning(monkeypatch):
    def thin(seed):
        return flooded(seed, step_rows=256, step_calls=10)

    assert of_seeds(thin) < 0.6
    monkeypatch.setattr(bounds, "THIN_SHARE_MAX", 1.0)
    assert not of_seeds(thin) < 0.6, "updates are the flood's"


def test_newcomers_that_flood_have_an_eighth_of_a_share(monkeypatch):
    def crowd(seed):
        lesson = Class(seed)
        for _ in range(STEPS):
            newcomers = [lesson.call(10 + newcomer, -1, counted=False, rows=8) for newcomer in range(6)]
            lesson.teach(*(lesson.call(account) for account in range(4)), *newcomers)
        return lesson.left

    assert of_seeds(crowd) < 0.6
    monkeypatch.setattr(bounds, "NEWCOMER", 1.0)
    assert not of_seeds(crowd) < 0.6


def test_slow_accounts_delay_an_expert_and_do_not_stop_it():
    """One trainer of four is ten times as fast: it is held to a share of a quarter, and still learns from all."""

    def uneven(seed):
        lesson = Class(seed)
        for _ in range(STEPS):
            lesson.teach(*(lesson.call(account) for account in (*[0] * 10, 1, 2, 3)))
        return lesson.left

    assert of_seeds(uneven) < 0.6


# --- age -------------------------------------------------------------------------------------------------------------


def late(seed, staleness):
    """Three of four trainers give gradients of states that are 60 updates old."""
    lesson = Class(seed, staleness=staleness, optimizer=ExpertOptimizer(name="sgd", learning_rate=2.0, momentum=0.9))
    waiting = []
    for _ in range(2 * STEPS):
        lesson.teach(*(lesson.call(0) for _ in range(4)))
        for account in range(1, 4):
            x = lesson.drawn(4)
            waiting.append((account, lesson.expert.version, (x, lesson.gradient(x))))
        while waiting and lesson.expert.version - waiting[0][1] >= 60:
            account, seen, pair = waiting.pop(0)
            lesson.teach(lesson.call(account, seen=seen, pair=pair))
    return lesson.left


def test_late_gradients_do_not_move_an_expert():
    assert of_seeds(lambda seed: late(seed, 16)) < 0.7 * of_seeds(lambda seed: late(seed, 10_000))


def test_late_gradient_is_answered_and_counted():
    lesson = Class(staleness=5)
    lesson.expert.version = 100
    before = {name: tensor.clone() for name, tensor in lesson.expert.tensors().items()}
    x = lesson.drawn(16)
    rows = torch.from_numpy(x).requires_grad_()
    (plain,) = torch.autograd.grad(lesson.expert.module(rows), rows, torch.from_numpy(lesson.gradient(x)))
    dx = lesson.teach(lesson.call(0, pair=(x, lesson.gradient(x)), seen=94))
    np.testing.assert_allclose(dx, plain.numpy(), rtol=1e-5)
    assert all(torch.equal(before[name], tensor) for name, tensor in lesson.expert.tensors().items())
    assert lesson.expert.weightless_rows == 16
    assert lesson.expert.stale[stale_bucket(6)] == 1
    lesson.teach(lesson.call(0, rows=16, seen=95))
    assert lesson.expert.version == 101


@pytest.mark.parametrize(("updates", "bucket"), [(-3, 0), (0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (10**9, 14)])
def test_lateness_is_counted_in_doubling_buckets(updates, bucket):
    assert stale_bucket(updates) == bucket


# --- numbers that are none -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("defended", [True, False])
def test_gradient_that_is_not_finite_costs_others_nothing(tmp_path, monkeypatch, defended):
    hosted = Hosted(tmp_path)
    if not defended:
        monkeypatch.setattr("core.training.experts.runtime.is_finite", lambda rows: True)
    x = np.random.default_rng(0).normal(0, 1, (8, WIDTH)).astype(np.float32)
    bad = x.copy()
    bad[0, 0] = np.nan
    hosted.ask(((x, x), {}), ((x, bad), {"account": ACCOUNTS[1]}), kind=CallKind.BACKWARD)
    assert hosted.expert.version == (1 if defended else 0), "without the defence the update of all is lost"
    assert hosted.expert.is_finite
