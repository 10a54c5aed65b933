"""A trainer follows the usage policy."""

import asyncio
from types import SimpleNamespace

from core.engine.allowed_use import AllowedUse
from core.engine.limits.preferences import Preferences
from core.engine.limits.usage_policy import UsagePolicy
from core.schedule.sensed import Sensed, SensedGpu
from core.storage.settings import Settings


class Trainer:
    def __init__(self):
        self.limits, self.wishes = [], []

    def throttle(self, limit):
        self.limits.append(limit)

    def resume(self):
        self.wishes.append("resume")

    async def pause(self, *, memory_s=0.0):
        self.wishes.append(f"pause {memory_s:g}")


def test_hot_card_is_left_out_while_the_processor_goes_on(tmp_path):
    async def go():
        chosen = Settings(device="cuda:0,cpu", celsius_max=80, keep_minutes=2)
        policy = UsagePolicy(chosen, path=tmp_path / "usage.json", now=lambda: 0.0, offset_s=lambda _: 0.0)
        preferences, trainer = Preferences(tmp_path / "settings.json", chosen), Trainer()
        options = SimpleNamespace(threads=1)
        installation = SimpleNamespace(usage_policy=policy, preferences=preferences, options=options)
        use = AllowedUse(installation, [trainer], changed=lambda: None)
        keeping = asyncio.create_task(use.keep())
        for celsius, left_out, wishes in (
            (60.0, (), ["resume"]),
            (90.0, ("cuda:0",), ["resume"]),
        ):
            policy.sense(Sensed(gpus=(SensedGpu(name="cuda:0", celsius=celsius),)))
            for _ in range(5):
                await asyncio.sleep(0)
            assert trainer.limits[-1].left_out == left_out
            assert trainer.wishes == wishes
        policy.sense(Sensed(celsius=90.0, gpus=(SensedGpu(name="cuda:0", celsius=90.0),)))
        for _ in range(5):
            await asyncio.sleep(0)
        assert trainer.wishes == ["resume", "pause 120"]
        keeping.cancel()

    asyncio.run(go())


def test_metered_line_stops_what_computes_and_a_limit_does_not(tmp_path):
    """Training, helping and hosting experts follow alike."""

    async def go():
        chosen = Settings(upload_bytes_s=50_000.0)
        policy = UsagePolicy(chosen, path=tmp_path / "usage.json", now=lambda: 0.0, offset_s=lambda _: 0.0)
        preferences, trainer, experts = Preferences(tmp_path / "settings.json", chosen), Trainer(), Trainer()
        preferences.follow(policy.apply)
        installation = SimpleNamespace(usage_policy=policy, preferences=preferences, options=SimpleNamespace(threads=1))
        use = AllowedUse(installation, [trainer, experts], changed=lambda: None)
        keeping = asyncio.create_task(use.keep())

        async def settled():
            for _ in range(5):
                await asyncio.sleep(0)
            assert trainer.wishes == experts.wishes
            return experts.wishes[-1].split()[0]

        assert await settled() == "resume"
        policy.metered(True)
        assert await settled() == "pause"
        preferences.change({"use_metered": True})
        assert await settled() == "resume"
        keeping.cancel()

    asyncio.run(go())
