from core.text.order.documents import HELD_OUT_PER_MILLE, is_held_out


def test_the_promised_share_is_held_out() -> None:
    number, share = 20_000, HELD_OUT_PER_MILLE / 1000
    held = sum(is_held_out([f"document {n}"]) for n in range(number))
    assert abs(held - number * share) < 5 * (number * share * (1 - share)) ** 0.5
