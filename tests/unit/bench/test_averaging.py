"""Nobody looks at its mean while others may still wait for its words."""

import asyncio

from core.bench.averaging import _round
from core.bench.words import Done, Ended, Go, Show


class Told:
    """A peer that ends its round when it is let."""

    def __init__(self, *, ends: bool) -> None:
        self.words: list[object] = []
        self.may_end = asyncio.Event()
        if ends:
            self.may_end.set()

    def tell(self, words):
        self.words.append(words)

    async def hear(self, kind, *, timeout_s):
        del timeout_s
        if kind is Ended:
            await self.may_end.wait()
            return Ended()
        assert kind is Done
        return self


def test_no_mean_is_looked_at_before_everybody_has_ended():
    async def case():
        quick, slow = Told(ends=True), Told(ends=False)
        go = Go(number=0, at=0.0)
        done = asyncio.create_task(_round([quick, slow], go))
        for _ in range(5):
            await asyncio.sleep(0)
        assert quick.words == slow.words == [go]
        slow.may_end.set()
        assert await done == [quick, slow]
        assert quick.words == slow.words == [go, Show()]

    asyncio.run(case())
