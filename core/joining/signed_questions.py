"""Questions that a member signs, to the first backbone of a link that answers."""

import secrets
from collections.abc import Callable
from typing import Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from core.backbone.derived_root import root_lineage
from core.backbone.desk_messages import MODERATOR_ANSWERS, REFUSALS, ModeratorAct, ModeratorAnswer, ModeratorQuestion
from core.backbone.link import Link
from core.base.ids import PeerId
from core.base.problems import BadInput, NotTrusted, Problem, RemoteProblem, ShutOut, WireProblem
from core.base.signing import KeyPair
from core.base.site.channel import MODERATORS_ENTER
from core.base.site.ways import LOOPBACK
from core.base.state_header import ORIGIN_BYTES
from core.base.wire import PROTOCOL, Schema
from core.joining.introduction import UNANSWERED, Introduced, at_first, got, read_answer, session_with, trusting
from core.net.identity.passes import Pass

ANSWER_BYTES_MAX: Final = 256 * 1024
NONCE_BYTES: Final = 16
A = TypeVar("A")


async def ask_signed(
    link: Link,
    now: Callable[[], float],
    path: str,
    signed: Callable[[float, PeerId], bytes],
    answers: Schema[A],
    *,
    known: bytes,
) -> A:
    """Ask the first backbone of a link that answers.

    Args:
        link: Leads to the collaboration.
        now: Unix seconds.
        path: Which question it is.
        signed: Makes the question, signed at this second of the backbone's clock, for the backbone with this key.
        answers: What an answer is.
        known: What moderators have said, `AuthorityRecords.to_bytes`: a backbone that they have ended is not asked.

    Raises:
        NotTrusted: this computer is not a member, is shut out, or may not ask that.
        BadInput: the question cannot be answered.
        Problem: no backbone answers, or it cannot do that now.
    """

    async def ask(to: Link, introduced: Introduced) -> A:
        proven, verify = list[PeerId](), introduced.verifier(now)

        def shown(der: bytes) -> Pass:
            found = verify(der)
            proven.append(found.peer)
            return found

        async with session_with(to, trusting(introduced.issuers, shown)) as session:
            await got(session, "/v1/authority", ANSWER_BYTES_MAX)  # by then the desk has proven which key it has
            question = signed(now() + introduced.clock_ahead_s, proven[-1])
            async with session.post(path, data=question) as response:
                status, body = response.status, await read_answer(response, ANSWER_BYTES_MAX)
            try:
                if status == 200:
                    return answers.decode(body)
                refusal = REFUSALS.decode(body)
            except WireProblem as error:
                raise RemoteProblem("The backbone answered something unreadable ({status}).", status) from error
        kinds: dict[int, type[Problem]] = {400: BadInput, 403: NotTrusted}
        kind = ShutOut if refusal.code == ShutOut.code else kinds.get(status, RemoteProblem)
        raise kind(refusal.message, hint=refusal.hint)

    try:
        return await at_first(link, now, ask, known=known)
    except UNANSWERED as error:
        if isinstance(error, Problem):
            raise
        raise Problem("No backbone answers at {where}.", link.where, hint="Try again later.") from error


async def ask_moderator(
    link: Link, key: KeyPair, now: Callable[[], float], act: ModeratorAct, number: int = 0, *, known: bytes = b""
) -> tuple[PeerId, ModeratorAnswer]:
    """Ask the first backbone of a link that answers; returns its key and what it says.

    Args:
        link: Leads to the collaboration.
        key: Key of this computer, which is a moderator's.
        now: Unix seconds.
        act: What is asked for.
        number: As `act` says.
        known: As in `ask_signed`.

    Raises:
        NotTrusted: this computer is not a moderator's.
        BadInput: there is no such copy, or no page for moderators.
        Problem: no backbone answers, or it cannot do that now.
    """
    asked_at: list[PeerId] = []

    def signed(at: float, desk: PeerId) -> bytes:
        asked_at.append(desk)
        nonce = secrets.token_bytes(NONCE_BYTES)
        asked = ModeratorQuestion(
            act=act, key=key.peer_id, number=number, desk=desk, at=at, nonce=nonce, protocol=PROTOCOL
        )
        asked = msgspec.structs.replace(asked, signature=key.sign(asked.signed_bytes(link.manifest_id)))
        return msgspec.json.encode(asked)

    answer = await ask_signed(link, now, "/v1/moderator", signed, MODERATOR_ANSWERS, known=known)
    if act is ModeratorAct.COPIES and number:
        copies, back = () if answer.copies is None else answer.copies.copies, answer.back
        epoch = next((copy.epoch for copy in copies if copy.number == number), None)
        if back is None or back.epoch != epoch or back.root != root_lineage(back.source, back.root[-ORIGIN_BYTES:]):
            raise RemoteProblem("The backbone tells of another copy than was asked for.")
    if act is ModeratorAct.PAGE and not _is_page(answer.page):
        raise RemoteProblem("The backbone tells an address at which no page can be.")
    return asked_at[-1], answer


def _is_page(address: str) -> bool:
    """Whether a browser may open an address: a moderator's page, by TLS or on this computer, and nothing else."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    return safe and parts.path == MODERATORS_ENTER and address.isprintable()
