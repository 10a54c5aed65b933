"""Asks other backbones whom they have let in: the asking side of `core.backbone.log_copies`."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from random import SystemRandom
from typing import Final

import msgspec

from core.authority.issuers import Issuer
from core.backbone.link import Link
from core.backbone.log_copies import LOG_PAGES, LogCopies
from core.base.ids import PeerId
from core.base.problems import Problem, ProofProblem, RemoteProblem
from core.joining.introduction import UNANSWERED, Introduced, at_first, read_answer, session_with, trusting
from core.net.identity.passes import Pass

_LOG = logging.getLogger(__name__)
COPY_S: Final = 15.0
"""Seconds between two questions to another backbone."""
PAGES_MAX: Final = 50
"""Number of answers that are taken at once."""


async def keep_copying(copies: LogCopies, now: Callable[[], float]) -> None:
    """Copy the logs of all other backbones, until cancelled; one that does not answer is asked again.

    Args:
        copies: This backbone's part.
        now: Unix seconds.
    """
    while True:
        others: Sequence[Issuer] = ()
        with contextlib.suppress(Problem):  # the charter is damaged, which the desk says
            others = copies.others
        for one in others:
            places = [(at.host, at.port) for at in one.places]
            try:
                await copy_log(copies, PeerId(one.key), places, now)
            except (*UNANSWERED, Problem) as problem:
                _LOG.info("whom the backbone %s has let in is not known: %s", one.name, problem)
        await asyncio.sleep(COPY_S * SystemRandom().uniform(0.8, 1.2))


async def copy_log(copies: LogCopies, issuer: PeerId, places: list[tuple[str, int]], now: Callable[[], float]) -> None:
    """Copy what is new in the log of one other backbone.

    Args:
        copies: This backbone's part.
        issuer: The other one's.
        places: Host and port of each address of the other one.
        now: Unix seconds.

    Raises:
        Problem: it does not answer, or is another one.
    """
    records = copies.records()
    (host, port), *also = places

    async def ask(to: Link, introduced: Introduced) -> None:
        verified = introduced.verifier(now)

        def proven(der: bytes) -> Pass:
            found = verified(der)
            if found.issuer != issuer:
                raise ProofProblem("The pass of {username} is another backbone's.", found.username)
            return found

        async with session_with(to, trusting(introduced.issuers, proven)) as session:
            for _ in range(PAGES_MAX):
                asked = msgspec.json.encode(copies.question(issuer, now()))
                async with session.post("/v1/admissions", data=asked) as response:
                    if response.status != 200:
                        raise RemoteProblem("The backbone answered {status} to {path}.", response.status, to.where)
                    page = LOG_PAGES.decode(await read_answer(response, 1024 * 1024))
                if not copies.take(page, issuer, now()):
                    return

    link = Link(host, port, records.seal.manifest_id, "", tuple(also))
    await at_first(link, now, ask, known=records.to_bytes())
