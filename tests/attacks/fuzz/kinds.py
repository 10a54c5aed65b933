"""The collaborations that are attacked."""

from dataclasses import replace
from random import Random

from core.codecs.registry import CODEC_NAMES
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.settings import CLIPPED, SwarmSettings


def settings_of(seed: int) -> SwarmSettings:
    """Four kinds of collaborations, one after the other: every phase comes in some of them."""
    random = Random(f"world {seed}")
    plain = SwarmSettings(
        peers=8,
        epochs=10**6,
        epoch_s=3.0,
        churn=ChurnSettings(live=(5, 8), up_s=90.0, down_s=8.0, first_s=2.0),
        relays=True,
        measured=True,
        pause_s=60.0,
        codec=random.choice(CODEC_NAMES),
    )
    match seed % 4:
        case 0:
            return replace(plain, aggregator=CLIPPED, copies=True, helpers=1)
        case 1:
            return replace(plain, failure_rate=0.3, copies=True, backbone_s=60.0)
        case 2:
            return replace(plain, aggregator=CLIPPED, delayed=True, padding_bytes=600_000, freeze_s=60.0)
    return replace(plain, delayed=True, partial=True, parameters=2048, chunk_numel=128, helpers=1, skew_s=2.0)
