"""What each account has of the weight of an expert's updates, and when these are taken."""

import numpy as np
import pytest

from core.training.experts import bounds
from core.training.experts.bounds import ASKING_MIN, UpdateShares
from tests.unit.training.experts import ACCOUNTS


def test_account_has_a_quarter_of_each_update():
    shares = UpdateShares(rows=32, calls=10)
    for account in range(ASKING_MIN - 1):
        assert shares.weight(ACCOUNTS[account], 4, counted=True, now=0.0) == 1
    assert shares.weight(ACCOUNTS[8], 16, counted=True, now=0.0) == 0.5, "all its samples count, half each"
    assert shares.weight(ACCOUNTS[8], 1, counted=True, now=0.0) == 0
    assert (shares.total, shares.is_due) == (20, False)
    assert shares.weight(ACCOUNTS[9], 4, counted=False, now=0.0) == 0.25
    for account in range(ASKING_MIN - 1):
        shares.weight(ACCOUNTS[account], 4, counted=True, now=0.0)
    assert shares.is_due
    shares.updated()
    assert (shares.total, shares.is_due) == (0, False)
    assert shares.weight(ACCOUNTS[8], 16, counted=True, now=bounds.ASKING_S + 1) == 1, "it asks alone by now"


def test_update_by_calls_waits_while_one_account_has_more():
    shares = UpdateShares(rows=100, calls=8)
    for account in range(ASKING_MIN):
        shares.weight(ACCOUNTS[account], 2, counted=True, now=1.0)
    for _ in range(20):
        shares.weight(ACCOUNTS[0], 2, counted=True, now=1.0)
    assert not shares.is_due, "its calls hasten nothing"
    while not shares.is_due:
        for account in range(1, ASKING_MIN):
            shares.weight(ACCOUNTS[account], 2, counted=True, now=1.0)
    assert 3 * 25 <= shares.total < 100
    shares.updated()
    for now in (2.0, 2.0 + bounds.WAIT_S):
        assert not shares.is_due
        for _ in range(8):
            shares.weight(ACCOUNTS[0], 2, counted=True, now=now)
    assert shares.is_due, "it has waited for others"


def test_update_by_calls_waits_while_newcomers_have_more():
    shares = UpdateShares(rows=32, calls=8)
    for account in range(2, 14):
        shares.weight(ACCOUNTS[account], 8, counted=account < 4, now=1.0)
    shares.updated()
    for account in range(4, 14):
        shares.weight(ACCOUNTS[account], 8, counted=False, now=1.0)
    assert (shares.total, shares.is_due) == (10, False)
    for account in range(2, 4):
        shares.weight(ACCOUNTS[account], 10, counted=True, now=1.0)
    assert (shares.total, shares.is_due) == (26, False), "ten newcomers count as one"
    shares.weight(ACCOUNTS[1], 4, counted=True, now=1.0)
    assert shares.is_due


ASKING = {
    "three and a slow newcomer": ({**dict.fromkeys(range(3), (1, 8, True)), 3: (50, 1, False)}, 100),
    "three and a slow one": ({**dict.fromkeys(range(3), (1, 8, True)), 3: (50, 1, True)}, 100),
    "two and two slow ones": ({**dict.fromkeys(range(2), (1, 8, True)), **dict.fromkeys((2, 3), (50, 1, True))}, 100),
    "one and three slow ones": ({0: (1, 8, True), **dict.fromkeys((1, 2, 3), (50, 1, True))}, 50),
    "six that no round has counted": (dict.fromkeys(range(6), (1, 8, False)), 900),
    "newcomers and a slow one": ({**dict.fromkeys(range(9), (1, 8, False)), 9: (50, 1, True)}, 100),
}


@pytest.mark.parametrize(("asking", "updates"), ASKING.values(), ids=ASKING)
def test_accounts_that_hardly_ask_do_not_stop_an_expert(asking, updates):
    """For ten minutes; of each account seconds between two calls, their rows, and whether a round has counted it."""
    shares, taken = UpdateShares(rows=32, calls=10), 0
    for now in range(600):
        for account, (every_s, rows, counted) in asking.items():
            if now % every_s == 0:
                shares.weight(ACCOUNTS[account], rows, counted=counted, now=float(now))
                if shares.is_due:
                    shares.updated()
                    taken += 1
    assert taken >= updates


@pytest.mark.parametrize("seed", range(3))
def test_no_account_exceeds_its_share_of_an_update(seed):
    random = np.random.default_rng(seed)
    shares, used = UpdateShares(rows=32, calls=6), {}
    for account in range(ASKING_MIN):
        used[account] = shares.weight(ACCOUNTS[account], 1, counted=True, now=0.0)
    for step in range(3000):
        account, rows = int(random.integers(8)) if random.random() < 0.5 else 0, int(random.integers(1, 20))
        weight = shares.weight(ACCOUNTS[account], rows, counted=account != 7, now=step * 0.01)
        used[account] = used.get(account, 0.0) + rows * weight
        if shares.is_due:
            share = 1 / 4 if shares.total >= 32 else 1 / 3
            assert max(used.values()) <= share * shares.total + 1e-9
            assert used.get(7, 0) <= 1
            shares.updated()
            used.clear()
