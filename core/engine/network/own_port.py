"""The port at which this computer hears other peers: it is opened, and others try whether they get through to it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from core.api.settings import PortTest
from core.base.problems import Busy, Sentence
from core.engine.installation import Installation
from core.nat.dial_back import ANSWER_S, PER_PEER_S
from core.nat.reachability import OwnReach, Reachability
from core.nat.traversal import Traversal
from core.session.session import Session
from core.swarm.participant import Participant

_LOG = logging.getLogger(__name__)
LOOK_S: Final = 0.2
PATIENCE_S: Final = ANSWER_S + 2.0


async def listening(session: Session[Participant], installation: Installation) -> int:
    """Open the ports of a session; returns the number of the port, which is another one where the wanted one is taken.

    Raises:
        Busy: the port that the command line named is taken.
        BadInput: this computer has no such address.
    """
    options = installation.options
    wanted = options.port if options.port is not None else installation.preferences.settings.port
    try:
        port = await session.listen(bind=options.bind, port=wanted)
    except Busy as busy:
        if options.port is not None:
            raise
        port = await session.listen(bind=options.bind)
        notice = Sentence("{busy} This time port {port} is used for other peers.", busy.sentence, port)
        installation.notices.add("warning", notice)
    _LOG.info("listening for peers on port %d", port)
    return port


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of it.

    Attributes:
        port: Port that was called.
        tcp: Whether TCP got through; None: not known.
        udp: The same for UDP.
        fresh: Somebody has just tried; else it is what was found earlier.
        forwarded: The router says that it forwards the port.
        reach: What follows.
    """

    port: int
    tcp: bool | None
    udp: bool | None
    fresh: bool
    forwarded: bool
    reach: OwnReach


async def try_port(
    traversal: Traversal | None,
    *,
    examine: Callable[[], object],
    port: int,
    forwarded: bool,
    now: Callable[[], float],
    heard: Callable[[], bool],
) -> PortTest:
    """Have others call, and wait some seconds for what they say.

    Args:
        traversal: Knows what others found; None where all others are on this computer.
        examine: Has others look again.
        port: At which we listen.
        forwarded: Whether the router says that it forwards the port.
        now: Unix seconds.
        heard: Whether anybody has reported lately.
    """
    if traversal is None:
        return PortTest(port=0, sentence="All others are on this computer, so no port has to be open.")
    examine()
    began = now()
    calls = traversal.probes.primary
    while calls.asking and now() < began + PATIENCE_S:  # noqa: ASYNC110 - a machine tells nobody that it is done
        await asyncio.sleep(LOOK_S)
    return words(
        Tried(
            port=port,
            tcp=calls.single_verdict if calls.tcp is None else calls.tcp,
            udp=calls.single_verdict_udp if calls.tcp is None else calls.udp,
            fresh=calls.concluded_at >= began - PER_PEER_S,
            forwarded=forwarded,
            reach=traversal.reach.hearing(others=heard()),
        )
    )


def words(tried: Tried) -> PortTest:
    """Puts the result of a try into a sentence and advice that a person can act on."""
    told, advice = _sentence(tried), _advice(tried)
    return PortTest(
        port=tried.port, sentence=str(told), advice=str(advice), tcp=tried.tcp, udp=tried.udp, said=(told, advice)
    )


def _sentence(tried: Tried) -> Sentence:
    reach, port = tried.reach.sentence, tried.port
    if tried.tcp is None:
        return Sentence(
            "Nobody has called port {port} yet: it takes two others who can be called themselves. {reach}", port, reach
        )
    when = Sentence("have called" if tried.fresh else "called, some time ago,")
    found = {
        (True, True): "Others {when} port {port} of this computer and got through, over TCP and UDP.",
        (True, False): "Others {when} port {port} of this computer and got through over TCP, but not over UDP.",
        (False, True): "Others {when} port {port} of this computer and got through over UDP, but not over TCP. {reach}",
        (False, False): "Others {when} port {port} of this computer, and nobody got through. {reach}",
    }
    return Sentence(found[tried.tcp, bool(tried.udp)], when, port, reach)


def _advice(tried: Tried) -> Sentence:
    if tried.tcp is None:
        return Sentence("Try again when more volunteers are here.")
    if tried.tcp and tried.udp:
        return Sentence("")
    if tried.tcp or tried.udp:
        closed = "UDP" if tried.tcp else "TCP"
        let = "Let {closed} through at the same port: in the router's rule, or in the firewall of this computer."
        return Sentence(let, closed)
    if tried.forwarded:
        return Sentence(
            "The router says that it forwards the port, so there is another router before it, or a firewall on "
            "this computer keeps others out. Allow Potluck in the firewall; a second router does no harm."
        )
    if tried.reach.udp == "none":
        return Sentence("No router is in the way, so a firewall is: allow Potluck in the firewall of this computer.")
    punchable = tried.reach.standing is Reachability.PUNCHABLE
    works = Sentence("It works well as it is. Connections would start a little faster with")
    message = "{with} UPnP or NAT-PMP in the router, or with TCP and UDP of port {port} forwarded to this computer."
    return Sentence(message, works if punchable else Sentence("Others could call with"), tried.port)
