"""What taking part comes to on this computer: closed formulas and what the system says, with nothing computed."""

import json
import os
import shutil
from collections.abc import Sequence
from typing import Final

import msgspec
import psutil

from core.api.data_state import SourceView, called
from core.api.look import THREAD_WATTS, ComputerFacts, JoinEstimate, LinkLook
from core.api.numbers import amount, volume
from core.api.settings import CPU
from core.base.data_source import MEMBERS
from core.base.manifest import Manifest
from core.base.problems import Problem
from core.cli.volunteer.needs import asked_for_sample, needs_of, sent_in_epoch
from core.engine.founding import Costs
from core.joining.look import Invited
from core.net.addresses.interfaces import own_hosts
from core.net.listening import ANY
from core.schedule.senses.network import ask_program, sense_network
from core.storage.paths import Home
from core.storage.settings import load_settings
from core.system.child_process import own_command
from core.system.reports import answer

DAY_S: Final = 86_400.0
SAMPLE_TOKENS: Final = 512
"""Length of a sample whose manifest does not say how long it is, tokens."""
TOKEN_BYTES: Final = 4.0
"""Rule of thumb: text of a token, as it lies on a server; packed text is a third of that."""
LETTERS: Final = frozenset({"gpt", "gpt-experts"})
"""Tasks whose tokens are letters."""
OPTIMIZER_BYTES: Final = 8.0
"""Upper bound on what an optimiser remembers for each parameter: two numbers of four bytes."""
CARD_QUERY: Final = ("nvidia-smi", "--query-gpu=name,power.limit", "--format=csv,noheader,nounits")
CARDS_MAX: Final = 16


async def computer_facts(home: Home) -> ComputerFacts:
    """Ask the system about this computer; takes some seconds at most."""
    settings = load_settings(home.settings_file).settings
    folder = next(place for place in (home.directory, *home.directory.parents) if place.exists())
    hosts = own_hosts(ANY)
    network = await sense_network() if hosts else None
    cores = os.cpu_count() or 1
    return ComputerFacts(
        cores=cores,
        threads=settings.threads or max(1, cores - 1),
        memory_bytes=psutil.virtual_memory().total,
        disk_free_bytes=shutil.disk_usage(folder).free,
        cards=() if settings.device == CPU else tuple(name for name, _ in await _cards()),
        connected=bool(hosts),
        metered=network.metered if network is not None else None,
        router=network is not None and network.gateway is not None,
    )


async def estimate(invited: Invited, here: ComputerFacts) -> JoinEstimate:
    """What taking part comes to; what cannot be known before the start stays None."""
    manifest, present = invited.manifest, invited.present
    watts = sum(limit for _, limit in await _cards()) if here.cards else here.threads * THREAD_WATTS
    share = 1 / (present.computers + 1) if present is not None else None
    costs = await _costs(manifest)
    if costs is None:
        return JoinEstimate(watts=watts or None, share=share)
    needs = needs_of(costs, manifest, blob_bytes=invited.download_bytes)
    day_bytes = data_day_bytes = None
    if present is not None and present.samples_per_s > 0:
        faster = present.samples_per_s * (present.computers + 1) / max(1, present.computers)
        epochs = DAY_S * faster / manifest.target_samples
        samples = DAY_S * present.samples_per_s / max(1, present.computers)
        data_day_bytes = data_of(manifest, samples=samples)
        elsewhere = present.computers / (present.computers + 1)
        day_bytes = 2 * epochs * sent_in_epoch(costs.parameters, manifest, present.computers + 1)
        day_bytes += 2 * samples * elsewhere * sum(asked_for_sample(manifest))
    return JoinEstimate(
        memory_bytes=needs.memory_bytes,
        disk_bytes=needs.disk_bytes,
        epoch_bytes=needs.epoch_bytes,
        experts_bytes=min(needs.experts_bytes, psutil.virtual_memory().available // 2),
        share=share,
        day_bytes=day_bytes,
        data_day_bytes=data_day_bytes,
        watts=watts or None,
    )


def data_of(manifest: Manifest, *, samples: float) -> float:
    """Bytes of text that a number of samples take from the network: a rule of thumb.

    Args:
        manifest: Names the sources, and how long a sample is.
        samples: Their number.
    """
    whole = sum(source.share for source in manifest.sources)
    remote = sum(source.share for source in manifest.sources if source.host or source.address == MEMBERS)
    length = manifest.numbers.get("sequence_length", manifest.numbers.get("length", SAMPLE_TOKENS))
    tokens = float(length) if isinstance(length, int | float) else SAMPLE_TOKENS
    token_bytes = 1.0 if manifest.task in LETTERS else TOKEN_BYTES
    return samples * remote / whole * tokens * token_bytes


def source_rows(sources: Sequence[SourceView], day_bytes: float | None) -> list[tuple[str, str]]:
    """Titles and texts about where the text comes from."""
    rows: list[tuple[str, str]] = []
    for source in sources:
        share = f"{source.share:.0%} from " if len(sources) > 1 else ""
        words = [word for word in (source.licence, source.credit) if word]
        described = f" ({'; '.join(words)})" if words else ""
        rows.append(("Text" if not rows else "", f"{share}{called(source)}{described}"))
    if hosts := sorted({source.host for source in sources if source.host}):
        traffic = f", about {volume(day_bytes)} a day if it computes all day" if day_bytes else ""
        rows.append(("Reads from", f"{', '.join(hosts)}{traffic}"))
    return rows


def rows_of(shown: LinkLook) -> list[tuple[str, str]]:
    """Titles and texts for a person."""
    here, cost = shown.computer, shown.estimate
    unknown = "not known before the start"
    cards = f", {', '.join(here.cards)}" if here.cards else ""
    rows = [
        ("Taking part", f"{amount(shown.computers)} computers now" if shown.computers is not None else "not told"),
        ("This computer", f"{here.threads} of {here.cores} processor threads{cards}"),
        ("Memory", f"about {_of(cost.memory_bytes, unknown)}; this computer has {volume(here.memory_bytes)}"),
        *([("", f"up to {volume(cost.experts_bytes)} more, for experts that live here")] if cost.experts_bytes else []),
        ("Disk", f"about {_of(cost.disk_bytes, unknown)}; {volume(here.disk_free_bytes)} are free"),
        ("Your share", _share(cost.share) or unknown),
        ("Power", f"about {amount(cost.watts)} W while it computes (a rule of thumb)" if cost.watts else unknown),
        ("Network", _network(cost) or unknown),
    ]
    rows += source_rows(shown.sources, cost.data_day_bytes)
    if shown.folder:
        rows.append(("Wants to read", f"the folder {shown.folder} here; if you trust it: potluck engine --text FOLDER"))
    if not here.connected:
        rows.append(("", "This computer is in no network now."))
    elif here.metered:
        rows.append(("", "The system says that this connection costs by the megabyte: Potluck leaves it alone."))
    return rows


def _of(count_bytes: int | None, unknown: str) -> str:
    return unknown if count_bytes is None else volume(count_bytes)


def _share(share: float | None) -> str:
    if share is None:
        return ""
    return f"about {share:.0%} of this collaboration, if it is as fast as the others are on average"


def _network(cost: JoinEstimate) -> str:
    if cost.day_bytes is not None:
        return f"about {volume(cost.day_bytes)} a day in both directions, if it computes all day"
    return "" if cost.epoch_bytes is None else f"up to {volume(cost.epoch_bytes)} each way an epoch"


async def _costs(manifest: Manifest) -> Costs | None:
    """What the manifest's model takes, by a child that may import tasks; None: it cannot be known here."""
    given = ["--task", manifest.task, "--numbers", json.dumps(manifest.numbers)]
    given += [] if manifest.mixture is None else ["--experts", msgspec.json.encode(manifest.mixture).decode()]
    try:
        costs = await answer([*own_command("costs", "core.tasks.costs"), *given], ["costs"])
    except (Problem, OSError):
        return None
    return msgspec.convert({**costs, "optimizer_bytes": OPTIMIZER_BYTES}, Costs)


async def _cards() -> list[tuple[str, float]]:
    """Names and power limits (W; 0: not told) of NVIDIA's cards, as their driver's own program lists them."""
    cards = []
    for line in (await ask_program(CARD_QUERY)).splitlines()[:CARDS_MAX]:
        name, _, limit = line.rpartition(",")
        try:
            watts = float(limit)
        except ValueError:
            watts = 0.0
        if name:
            cards.append((name.strip()[:80], watts))
    return cards
