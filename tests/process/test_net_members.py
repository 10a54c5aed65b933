"""What a member with a pass may send on its links."""

import pytest

from tests.process.net_people import CODEC, Ask, Say, acquainted, in_loop

pytestmark = pytest.mark.process


@in_loop
async def test_message_of_datagrams_on_a_stream_ends_the_link():
    async with acquainted() as (anna, ben):
        anna.say(ben, Say("hello"))
        await ben.book.until(lambda book: book.heard)
        anna.host.links.to(ben.id).send(CODEC.encode(Ask("without a share of the processor")), bulk=True)
        await anna.book.until(lambda book: book.lost)
        assert ben.texts() == ["hello"]
        assert ben.trace["net.drop.plane"] == 1
