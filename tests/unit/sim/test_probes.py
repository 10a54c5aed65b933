from tests.sim.probes import reachable_bytes


class Holder:
    def __init__(self) -> None:
        self.held: list[bytes] = []
        self.me = self


def test_shared_objects_are_counted_once() -> None:
    holder = Holder()
    before = reachable_bytes(holder)
    piece = bytes(100_000)
    holder.held += [piece, piece]
    assert 100_000 <= reachable_bytes(holder) - before < 101_000


def test_code_is_not_counted() -> None:
    assert reachable_bytes(Holder()) < 10_000
