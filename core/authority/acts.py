"""A moderator's wishes as signed documents."""

import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from core.api.moderation import FOUNDER_NAME, ModerationAct, ModerationWish
from core.authority.changes import banned, check_moderator, new_decisions, new_drill, new_holds, new_roles, pardoned
from core.authority.decisions import NOTICES_MAX, WORDS_MAX, Announcement, End, EndState, GoBack, Newcomers
from core.authority.documents import Document
from core.authority.holds import HeldPerson
from core.authority.issuers import ISSUER_NAME_BYTES_MAX, PLACES_MAX, RETIRING_S, Issuer, IssuerPlace
from core.authority.proposals import Proposal, is_understood
from core.authority.records import AuthorityRecords
from core.authority.roles import NAME_BYTES_MAX, Moderator, Roles, usual_threshold
from core.authority.view import proposal_id
from core.base.ids import PeerId
from core.base.problems import BadInput, NotTrusted, quoted
from core.base.signing import Signer

DAY_S = 24 * 3600
_LINK: Final = re.compile(r"potluck://[^\s/?#]+/([0-9a-f]{64})(?:\?[^\s#]*)?(?:#[A-Za-z0-9_-]*)?")
Find = Callable[[str], Sequence[PeerId]]
"""The keys of a person, the first of their account first; raises BadInput where nobody is called so."""


def signed_wish(
    records: AuthorityRecords,
    signer: Signer,
    now: float,
    wish: ModerationWish,
    find: Find,
    back: GoBack | None = None,
) -> Document:
    """What a moderator wants as a document with their signature.

    Args:
        records: What is known.
        signer: The moderator.
        now: Unix seconds.
        wish: What they want.
        find: Finds the keys of a person.
        back: The way back to the copy that is meant, if one is.

    Raises:
        BadInput: nobody is meant, or it cannot be done.
        NotTrusted: the signer is not a moderator.
    """
    if len(wish.words) > WORDS_MAX:
        raise BadInput("These are {count} letters.", len(wish.words), WORDS_MAX, hint="Say it in {most}.")
    match wish.act:
        case ModerationAct.SIGN:
            proposal = proposal_called(records, wish.who)
            if not is_understood(proposal):
                unknown = "This proposal says something that this version of Potluck does not know."
                raise BadInput(unknown, hint="Update Potluck, and look at it again.")
            if not (isinstance(proposal.content, Roles) and signer.peer_id in proposal.content.keys):
                check_moderator(records, signer.peer_id)  # who shall become one may agree to that
            return records.seal.countersign(proposal.document, signer)
        case ModerationAct.HOLD | ModerationAct.RELEASE:
            keys, until = find(wish.who), int(now + wish.days * DAY_S)
            held = [HeldPerson(key, until, wish.words) for key in keys if wish.act is ModerationAct.HOLD]
            return new_holds(records, signer, now, hold=held, release=keys)
        case ModerationAct.ADD | ModerationAct.REMOVE | ModerationAct.AGREE:
            return _new_roles(records, signer, now, wish, find)
        case ModerationAct.BACKBONE | ModerationAct.RETIRE | ModerationAct.STOLEN:
            return new_roles(records, signer, now, issuers=_issuers(records, now, wish))
        case ModerationAct.DRILL:
            return new_drill(records, signer, now)
        case ModerationAct.GO_BACK:
            return new_decisions(records, signer, now, words=wish.words, back=back)
        case _:
            return new_decisions(records, signer, now, **_fields(records, now, wish, find))


def _fields(records: AuthorityRecords, now: float, wish: ModerationWish, find: Find) -> dict[str, object]:
    """The fields of decisions that a wish changes."""
    known = records.decisions
    because: dict[str, object] = {"words": wish.words}
    match wish.act:
        case ModerationAct.BAN:
            return because | banned(known, find(wish.who), now)
        case ModerationAct.PARDON:
            return because | pardoned(known, find(wish.who))
        case ModerationAct.NOTICE:
            if not wish.words.strip():
                raise BadInput("The notice says nothing.", hint="Give its words with --words.")
            told = [one for one in known.notices if now < one.until]
            told.append(Announcement(int(now), int(now + wish.days * DAY_S), wish.words))
            return {"notices": tuple(told[-NOTICES_MAX:])}
        case ModerationAct.PAUSE | ModerationAct.END | ModerationAct.SUCCESSOR:
            return {"end": _end(records, wish)}
        case ModerationAct.RESUME:
            if known.end is None:
                raise BadInput("It is neither paused nor ended.", hint="See what holds with: potluck moderate")
            return because | {"end": None}
        case _:
            return because | {"newcomers": Newcomers.CLOSED if wish.act is ModerationAct.CLOSE else Newcomers.INVITED}


def _end(records: AuthorityRecords, wish: ModerationWish) -> End:
    """A pause, or the end with or without a successor."""
    if wish.act is ModerationAct.PAUSE:
        return End(state=EndState.PAUSED, words=wish.words)
    if wish.act is ModerationAct.END:
        return End(state=EndState.CLOSED, words=wish.words)
    link, known = _LINK.fullmatch(wish.who), records.decisions.end
    if link is None or link[1] == records.seal.manifest_id.hex():
        hint = "Give the whole link of the other one: potluck://..."
        raise BadInput("{words} is not a link of another collaboration.", quoted(wish.who, 80), hint=hint)
    said = wish.words or ("" if known is None else known.words)
    return End(state=EndState.CLOSED, words=said, successor=wish.who)


def _new_roles(records: AuthorityRecords, signer: Signer, now: float, wish: ModerationWish, find: Find) -> Document:
    roles = records.roles
    people, threshold = list(roles.moderators), wish.count
    match wish.act:
        case ModerationAct.ADD:
            name, (key, *more) = wish.words.strip() or wish.who, find(wish.who)
            if more and key_of(wish.who) is None:
                hint = "Give the key of the one at which they moderate: potluck account"
                raise BadInput("{who} has {count} computers.", quoted(wish.who), 1 + len(more), hint=hint)
            people.append(Moderator(key_of(wish.who) or key, name.encode()[:NAME_BYTES_MAX].decode(errors="ignore")))
        case ModerationAct.REMOVE:
            gone = [one for one in people if wish.who in {one.name, one.key.hex()}]
            if not gone:
                raise BadInput("{who} is not a moderator.", quoted(wish.who), hint="List them with: potluck moderate")
            people.remove(gone[0])
            threshold = threshold or min(roles.threshold, usual_threshold(len(people)))
    return new_roles(
        records,
        signer,
        now,
        moderators=people,
        threshold=threshold
        or max(usual_threshold(len(people)), roles.threshold if wish.act is ModerationAct.ADD else 1),
    )


def _issuers(records: AuthorityRecords, now: float, wish: ModerationWish) -> list[Issuer]:
    """All issuers, with what a wish changes; those that have ended make room."""
    founder = records.seal.founder
    known = {one.key: one for one in records.roles.issuers}
    key = key_of(wish.who) or next((PeerId(one.key) for one in known.values() if one.name == wish.who), None)
    if wish.act is ModerationAct.BACKBONE:
        if key is None:
            raise BadInput("{words} is not a key.", quoted(wish.who), hint="A stand-in tells its key when it starts.")
        places = tuple(map(IssuerPlace.read, wish.places[:PLACES_MAX]))
        if key in records.chain.stolen:
            raise BadInput("The key of this backbone was in wrong hands.", hint="Have it make another key.")
        changed = Issuer(key, wish.words.strip()[:ISSUER_NAME_BYTES_MAX] or wish.who[:16], places)
    else:
        if key is None or key not in {founder, *known}:
            raise BadInput("No backbone is called {words}.", quoted(wish.who), hint="List them with: potluck moderate")
        before = known.get(key, Issuer(key, FOUNDER_NAME))
        if wish.act is ModerationAct.RETIRE:
            until = int(now) + RETIRING_S
        else:
            until = min(int(now) - 1, int(wish.since or records.chain.listed(key) or now))
        changed = msgspec.structs.replace(before, until=until if before.until is None else min(before.until, until))
    lasting = [one for one in known.values() if one.key == founder or one.until is None or one.until > now - DAY_S]
    return [*(one for one in lasting if one.key != key), changed]


def proposal_called(records: AuthorityRecords, said: str) -> Proposal:
    """The proposal with this id.

    Raises:
        BadInput: there is none.
    """
    found = [one for one in records.proposals if proposal_id(one.document) == said.lower()]
    if not found:
        raise BadInput("No proposal is called {words}.", quoted(said), hint="List them with: potluck moderate")
    return found[0]


def new_way_back(records: AuthorityRecords, said: str) -> GoBack | None:
    """To what everybody goes back by the proposal with this id, which people cannot tell by its digest; None: nobody.

    Raises:
        BadInput: there is no such proposal.
    """
    back = getattr(proposal_called(records, said).content, "back", None)
    return None if back == records.decisions.back else back


def no_such_copy() -> NotTrusted:
    """The problem that a proposal leads to a model which is no copy's."""
    hint = "Do not sign it before its author has told what it is: see the copies with potluck moderate copies."
    return NotTrusted("The model to which this proposal goes back does not come from any copy here.", hint=hint)


def copy_number(said: str) -> int:
    """The number of a copy that somebody has written.

    Raises:
        BadInput: it is not one.
    """
    if not (said.isascii() and said.isdecimal() and 0 < int(said) < 2**31):
        raise BadInput(
            "{words} is not the number of a copy.", quoted(said), hint="List them with: potluck moderate copies"
        )
    return int(said)


def key_of(said: str) -> PeerId | None:
    """The key that somebody has written in hex; None: it is not one."""
    try:
        key = bytes.fromhex(said)
    except ValueError:
        return None
    return PeerId(key) if len(key) == 32 else None
