"""What a moderator signs: documents that follow those in force, with one thing changed."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from core.authority import decisions as made
from core.authority import holds as lists
from core.authority import roles as chain
from core.authority.decisions import PARDONED_MAX, REVOKED_MAX, WORDS_MAX, Decisions
from core.authority.documents import MODERATORS_MAX, Document, DocumentKind
from core.authority.holds import CLOCKS_S, GAP_S, HELD_MAX, HOLD_S, HeldPerson, Holds
from core.authority.issuers import ISSUERS_MAX, Issuer, issuing
from core.authority.records import AuthorityRecords
from core.authority.roles import CHAIN_MAX, Moderator, Roles, check_roles
from core.base.ids import PeerId
from core.base.problems import BadInput, NotTrusted
from core.base.signing import Signer

ISSUING_S = 10
"""A pass that begins within this of a revocation may have been asked for before it."""


def new_decisions(records: AuthorityRecords, signer: Signer, now: float, **changes: Any) -> Document:
    """Decisions that follow those in force, with one signature.

    Args:
        records: What is known.
        signer: A moderator.
        now: Unix seconds: no list's number is smaller, so that one made from an earlier copy of a charter counts too.
        changes: Fields of `Decisions` that change.

    Raises:
        NotTrusted: the signer is not a moderator.
    """
    check_moderator(records, signer.peer_id)
    if len(changes.get("words", "")) > WORDS_MAX:
        raise BadInput("The words are too long.", WORDS_MAX, hint="Say it in {letters} letters.")
    roles, previous = records.in_force
    known = records.decisions
    number = max(known.number + 1, int(now))
    # Where one key decides, earlier versions ignore what they do not know, and there is nothing to be proposed.
    follows = {"roles": roles, "previous": previous, "author": signer.peer_id} if records.roles.number else {}
    decided = msgspec.structs.replace(known, **{"words": "", **follows, **changes}, number=number)
    return records.seal.sign(DocumentKind.DECISIONS, made.SCHEMA.encode(decided), signer)


def banned(known: Decisions, keys: Iterable[PeerId], now: float) -> dict[str, Any]:
    """Fields of decisions that ban these keys too."""
    revoked = [*dict.fromkeys([*map(PeerId, known.revoked), *keys])]
    since = known.passes_since if len(revoked) <= REVOKED_MAX else float(int(now) + ISSUING_S)
    spared = tuple(key for key in known.pardoned if key not in revoked)
    return {"revoked": tuple(revoked[-REVOKED_MAX:]), "passes_since": since, "pardoned": spared}


def pardoned(known: Decisions, keys: Sequence[PeerId]) -> dict[str, Any]:
    """Fields of decisions that let these keys in again, and end what a moderator holds of them."""
    spared = [*(key for key in known.pardoned if key not in keys), *keys]
    return {
        "revoked": tuple(key for key in known.revoked if key not in keys),
        "pardoned": tuple(spared[-PARDONED_MAX:]),
    }


def new_roles(
    records: AuthorityRecords,
    signer: Signer,
    now: float,
    *,
    moderators: Sequence[Moderator] | None = None,
    threshold: int | None = None,
    issuers: Sequence[Issuer] | None = None,
) -> Document:
    """A list of moderators and issuers that follows the one in force, with one signature.

    Args:
        records: What is known.
        signer: A moderator.
        now: Unix seconds.
        moderators: All of them; None: as before.
        threshold: How many of them have to agree; None: as before.
        issuers: All that the list names; None: as before.

    Raises:
        BadInput: nobody could decide by it, or nobody would give passes.
        NotTrusted: the signer is not a moderator.
    """
    check_moderator(records, signer.peer_id)
    previous, decided = records.in_force
    known, number = records.roles, records.roles.number + 1
    moderators = known.moderators if moderators is None else moderators
    issuers = known.issuers if issuers is None else issuers
    if number > CHAIN_MAX:
        raise BadInput("The moderators have changed as often as they can.", hint="Found a collaboration that goes on.")
    if not moderators:
        raise BadInput("Nobody would be left who can decide.", hint="Add another moderator first.")
    if len(moderators) > MODERATORS_MAX:
        raise BadInput("There can be {most} moderators.", MODERATORS_MAX, hint="Remove one first.")
    if len(issuers) > ISSUERS_MAX:
        raise BadInput("There can be {most} backbones.", ISSUERS_MAX, hint="Retire one first.")
    roles = Roles(
        number=number,
        previous=previous,
        moderators=tuple(moderators),
        threshold=known.threshold if threshold is None else threshold,
        decisions=decided,
        author=signer.peer_id,
        at=int(now),
        listed=tuple(issuers) or msgspec.UNSET,
    )
    check_roles(roles)
    issuing(roles.issuers, records.seal.founder)
    return records.seal.sign(DocumentKind.ROLES, chain.SCHEMA.encode(roles), signer)


def new_holds(
    records: AuthorityRecords, signer: Signer, now: float, *, hold: Sequence[HeldPerson], release: Collection[PeerId]
) -> Document:
    """A moderator's holds, with one more or one less.

    Args:
        records: What is known.
        signer: The moderator.
        now: Unix seconds.
        hold: New ones, of one person; those of the same keys are replaced.
        release: Keys that are held no longer, of which `hold` may have new ones.

    Raises:
        BadInput: a moderator is meant, too many are held, or it would last too long.
        NotTrusted: the signer is not a moderator.
    """
    check_moderator(records, signer.peer_id)
    if hold and not {*records.roles.keys, records.seal.founder}.isdisjoint(release):
        raise BadInput("A moderator cannot be held.", hint="Propose another list of moderators.")
    known = records.holds.of(signer.peer_id)
    number = max(known.number + GAP_S, int(now))
    held = [one for one in known.held if one.key not in release and one.until > now]
    if hold:
        held += hold
        if len(held) > HELD_MAX:
            raise BadInput(
                "One moderator can hold {most} computers at a time.", HELD_MAX, hint="Release one first, or ban them."
            )
        if hold[0].until > number + HOLD_S:
            raise BadInput("A hold lasts for 7 days at most.", hint="Ban them, which needs the others' signatures.")
    return _signed_holds(records, signer, msgspec.structs.replace(known, number=number, held=tuple(held)))


def new_drill(records: AuthorityRecords, signer: Signer, now: float) -> Document:
    """A moderator's holds as they are, signed anew: the answer to a drill, or a drill where none waits for this one.

    It changes nothing, so that it needs no other signature, and proves all the same that somebody has the key.

    Args:
        records: What is known.
        signer: The moderator.
        now: Unix seconds.

    Raises:
        NotTrusted: the signer is not a moderator.
    """
    check_moderator(records, signer.peer_id)
    known, asked = records.holds.of(signer.peer_id), records.holds.drill(records.roles.keys)
    answers = asked is not None and signer.peer_id in asked.missing
    theirs = min(asked.at, int(now) + CLOCKS_S) if asked is not None and answers else 0
    number = max(known.number + GAP_S, int(now), theirs)
    held = tuple(one for one in known.held if one.until > now)
    return _signed_holds(records, signer, Holds(number=number, held=held, drill=known.drill if answers else number))


def _signed_holds(records: AuthorityRecords, signer: Signer, holds: Holds) -> Document:
    return records.seal.sign(DocumentKind.HOLDS, lists.SCHEMA.encode(holds), signer)


def check_moderator(records: AuthorityRecords, key: PeerId) -> None:
    """Refuse what only moderators can do.

    Raises:
        NotTrusted: the key is not a moderator's.
    """
    if key not in records.roles.keys:
        raise NotTrusted("This computer is not a moderator's here.", hint="Ask a moderator to add it.")
