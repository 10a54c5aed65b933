"""The page's questions to its backbone."""

import asyncio

from core.base.site.channel import DeskAct, DeskAnswer
from core.site.backbone_line import BackboneLine


def test_question_that_was_not_written_gets_nobodys_answer() -> None:
    """What came for it would be the next person's ticket, and so for all that follow."""

    async def run() -> tuple[DeskAnswer, DeskAnswer]:
        written = 0

        def write(_: bytes) -> None:
            nonlocal written
            written += 1
            if written == 1:
                raise BrokenPipeError

        line = BackboneLine(write)
        lost = await line.ask(DeskAct.TICKET, b"a" * 16)
        asking = asyncio.ensure_future(line.ask(DeskAct.TICKET, b"b" * 16))
        await asyncio.sleep(0)
        line.answered(DeskAnswer(ticket="b's"))
        return lost, await asyncio.wait_for(asking, 60)

    lost, answered = asyncio.run(run())
    assert lost.error == "out_of_order"
    assert answered.ticket == "b's"
