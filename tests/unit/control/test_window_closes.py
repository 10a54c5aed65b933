"""A window that is closed while a moderator signs."""

import asyncio

from core.api.moderation import ModerationOutcome
from tests.unit.control.test_service import opened, raw, run


def test_window_that_closes_while_a_backbone_is_asked_signs_nothing(home, engine, monkeypatch):
    """To go back the engine asks a backbone first; what a moderator signs without that is signed at once."""
    asked, signed = asyncio.Event(), list[str]()

    async def act(_self, wish):
        if wish.act == "go_back":
            asked.set()
            await asyncio.Event().wait()
        signed.append(wish.act)
        return ModerationOutcome(done=True, id="", missing=0)

    async def test() -> None:
        monkeypatch.setattr(type(engine.moderation), "act", act)
        async with opened(home, engine):
            async with raw(home) as window:
                wish = {"act": "go_back", "who": "1"}
                await window.send_json({"jsonrpc": "2.0", "id": 1, "method": "moderate", "params": wish})
                await asked.wait()
            async with raw(home) as window:
                wish = {"act": "sign", "who": "6c844cc1"}
                await window.send_json({"jsonrpc": "2.0", "id": 1, "method": "moderate", "params": wish})
            async with raw(home):
                assert signed == ["sign"]

    run(test)
