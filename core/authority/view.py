"""What is known of moderators and their decisions, as people see it."""

from collections.abc import Callable, Iterator

from core.api.moderation import (
    ID_LETTERS,
    DecisionChange,
    HoldView,
    ModerationAct,
    ModerationOutcome,
    ModerationView,
    ModeratorView,
    ProposalView,
)
from core.authority.decisions import Decisions, Newcomers
from core.authority.documents import Document
from core.authority.proposals import PROPOSAL_S, Proposal
from core.authority.records import AuthorityRecords
from core.authority.roles import Roles
from core.base.ids import PeerId
from core.base.problems import Problem

Names = Callable[[PeerId], str]
"""What a person is called; empty: nobody knows."""


def moderation_view(records: AuthorityRecords, me: PeerId, names: Names, now: float) -> ModerationView:
    """All that moderators see.

    Args:
        records: What is known.
        me: Key of this computer, or of the charter.
        names: Names of people.
        now: Unix seconds.
    """
    roles, decisions = records.roles, records.decisions
    held = records.shut_out(now) - {*decisions.revoked}
    return ModerationView(
        moderates=me in roles.keys,
        moderators=tuple(ModeratorView(one.name, one.key.hex(), one.key == me) for one in roles.moderators),
        threshold=roles.threshold,
        newcomers=decisions.newcomers,
        banned=len(decisions.revoked),
        notices=tuple(one.words for one in decisions.notices if now < one.until),
        holds=tuple(
            HoldView(names(key), key.hex(), one.until, one.words)
            for key, one in records.holds.now(now).items()
            if key in held
        ),
        proposals=tuple(_proposal_view(records, one, me, names) for one in records.proposals),
    )


def outcome(records: AuthorityRecords, document: Document) -> ModerationOutcome:
    """What has become of a document that was taken."""
    if all(document.name != known.name for known in records.marked().values()):
        raise Problem("It was not kept: you have two newer proposals open, or something else was decided.")
    waits = next((one for one in records.proposals if one.document.name == document.name), None)
    missing = 0 if waits is None else _missing(records, waits)
    return ModerationOutcome(waits is None, proposal_id(document), missing)


def proposal_id(document: Document) -> str:
    """The letters by which people name a proposal."""
    return document.name.hex()[:ID_LETTERS]


def _proposal_view(records: AuthorityRecords, one: Proposal, me: PeerId, names: Names) -> ProposalView:
    signers = records.seal.signers(one.document)
    return ProposalView(
        id=proposal_id(one.document),
        author=records.roles.name_of(one.author),
        at=float(one.at),
        until=float(one.at + PROPOSAL_S),
        changes=tuple(_changes(records, one.content, names)),
        words="" if isinstance(one.content, Roles) else one.content.words,
        signed=tuple(sorted(records.roles.name_of(key) or names(key) for key in signers)),
        missing=_missing(records, one),
        signed_here=me in signers,
    )


def _missing(records: AuthorityRecords, one: Proposal) -> int:
    """Number of signatures that a proposal waits for."""
    signers = records.seal.signers(one.document)
    lists = [records.roles, one.content] if isinstance(one.content, Roles) else [records.roles]
    return max(max(each.threshold - len(each.keys & signers), 0) for each in lists)


def _changes(records: AuthorityRecords, after: Roles | Decisions, names: Names) -> Iterator[DecisionChange]:
    """What is different after a proposal."""
    if isinstance(after, Decisions):
        return _decision_changes(records.decisions, after, names)
    return _role_changes(records.roles, after)


def _role_changes(before: Roles, after: Roles) -> Iterator[DecisionChange]:
    for one in after.moderators:
        if one.key not in before.keys:
            yield DecisionChange(ModerationAct.ADD, one.name, one.key.hex())
    for one in before.moderators:
        if one.key not in after.keys:
            yield DecisionChange(ModerationAct.REMOVE, one.name, one.key.hex())
    if any(before.name_of(one.key) not in {"", one.name} for one in after.moderators):
        yield DecisionChange(ModerationAct.OTHER, words="names")
    if after.threshold != before.threshold:
        yield DecisionChange(ModerationAct.AGREE, count=after.threshold)


def _decision_changes(before: Decisions, after: Decisions, names: Names) -> Iterator[DecisionChange]:
    gone, back = {*after.revoked} - {*before.revoked}, {*before.revoked} - {*after.revoked}
    spared = back | ({*after.pardoned} - {*before.pardoned})
    for act, keys in ((ModerationAct.BAN, gone), (ModerationAct.PARDON, spared)):
        yield from (DecisionChange(act, names(PeerId(key)), key.hex()) for key in sorted(keys))
    for one in after.notices:
        if one not in before.notices:
            yield DecisionChange(ModerationAct.NOTICE, words=one.words)
    if after.back is not None and after.back != before.back:
        yield DecisionChange(ModerationAct.GO_BACK, after.back.root.hex()[:ID_LETTERS], count=after.back.epoch)
    shown = {"number", "roles", "previous", "author", "words", "revoked", "newcomers"}
    others = [name for name in Decisions.__struct_fields__ if name not in shown]
    fields = [name for name in others if _is_hidden(name, before, after)]
    if fields:
        yield DecisionChange(ModerationAct.OTHER, words=", ".join(fields))
    if after.newcomers is not before.newcomers:
        yield DecisionChange(ModerationAct.CLOSE if after.newcomers is Newcomers.CLOSED else ModerationAct.OPEN)


def _is_hidden(name: str, before: Decisions, after: Decisions) -> bool:
    """Whether a field is different in a way that no other line tells: nobody signs what they do not see."""
    old, new = getattr(before, name), getattr(after, name)
    if name in {"pardoned", "notices"}:
        return not set(old) <= set(new)
    return old != new and not (name == "back" and new is not None)
