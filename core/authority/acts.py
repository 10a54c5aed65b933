"""A moderator's wishes as signed documents."""

from collections.abc import Callable, Sequence

from core.api.moderation import ModerationAct, ModerationWish
from core.authority.changes import banned, check_moderator, new_decisions, new_holds, new_roles, pardoned
from core.authority.decisions import NOTICES_MAX, WORDS_MAX, Announcement, Decisions, Newcomers
from core.authority.documents import Document
from core.authority.holds import HeldPerson
from core.authority.proposals import Proposal
from core.authority.records import AuthorityRecords
from core.authority.roles import NAME_BYTES_MAX, Moderator, Roles, usual_threshold
from core.authority.view import proposal_id
from core.base.ids import PeerId
from core.base.problems import BadInput, quoted
from core.base.signing import Signer

DAY_S = 24 * 3600
Find = Callable[[str], Sequence[PeerId]]
"""The keys of a person, the first of their account first; raises BadInput where nobody is called so."""


def signed_wish(records: AuthorityRecords, signer: Signer, now: float, wish: ModerationWish, find: Find) -> Document:
    """What a moderator wants as a document with their signature.

    Args:
        records: What is known.
        signer: The moderator.
        now: Unix seconds.
        wish: What they want.
        find: Finds the keys of a person.

    Raises:
        BadInput: nobody is meant, or it cannot be done.
        NotTrusted: the signer is not a moderator.
    """
    if len(wish.words) > WORDS_MAX:
        raise BadInput("These are {count} letters.", len(wish.words), WORDS_MAX, hint="Say it in {most}.")
    match wish.act:
        case ModerationAct.SIGN:
            proposal = _proposal(records, wish.who)
            if not (isinstance(proposal.content, Roles) and signer.peer_id in proposal.content.keys):
                check_moderator(records, signer.peer_id)  # who shall become one may agree to that
            return records.seal.countersign(proposal.document, signer)
        case ModerationAct.HOLD | ModerationAct.RELEASE:
            keys, until = find(wish.who), int(now + wish.days * DAY_S)
            held = [HeldPerson(key, until, wish.words) for key in keys if wish.act is ModerationAct.HOLD]
            return new_holds(records, signer, now, hold=held, release=keys)
        case ModerationAct.ADD | ModerationAct.REMOVE | ModerationAct.AGREE:
            return _new_roles(records, signer, now, wish, find)
        case ModerationAct.GO_BACK:
            hint = "Where the copies lie, say: potluck copies --charter DIR --back-to N"
            raise BadInput("This computer does not know the copies.", hint=hint)
        case _:
            return new_decisions(records, signer, now, **_fields(records.decisions, now, wish, find))


def _fields(known: Decisions, now: float, wish: ModerationWish, find: Find) -> dict[str, object]:
    """The fields of decisions that a wish changes."""
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
        case _:
            return because | {"newcomers": Newcomers.CLOSED if wish.act is ModerationAct.CLOSE else Newcomers.INVITED}


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


def _proposal(records: AuthorityRecords, said: str) -> Proposal:
    found = [one for one in records.proposals if said and proposal_id(one.document).startswith(said.lower())]
    if len(found) != 1:
        raise BadInput("No proposal is called {words}.", quoted(said), hint="List them with: potluck moderate")
    return found[0]


def key_of(said: str) -> PeerId | None:
    """The key that somebody has written in hex; None: it is not one."""
    try:
        key = bytes.fromhex(said)
    except ValueError:
        return None
    return PeerId(key) if len(key) == 32 else None
