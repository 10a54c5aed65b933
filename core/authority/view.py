"""What is known of moderators and their decisions, as people see it."""

import math
from collections.abc import Callable, Iterator

from core.api.moderation import (
    FOUNDER_NAME,
    ID_LETTERS,
    DecisionChange,
    DrillView,
    EndView,
    HoldView,
    IssuerView,
    ModerationAct,
    ModerationOutcome,
    ModerationView,
    ModeratorView,
    ProposalView,
)
from core.authority.decisions import Decisions, End, EndState, Newcomers
from core.authority.documents import Document
from core.authority.holds import DRILL_S
from core.authority.issuers import Issuer, issuing
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
        issuers=tuple(IssuerView(one.name, one.key.hex(), _places(one), one.until) for one in roles.issuers),
        drill=_drill_view(records, me, now),
        end=_end_view(decisions.end),
    )


def _drill_view(records: AuthorityRecords, me: PeerId, now: float) -> DrillView | None:
    """The newest drill, as long as somebody has not answered, and for some days after."""
    drill, roles = records.holds.drill(records.roles.keys), records.roles
    if drill is None or (not drill.missing and now > drill.at + DRILL_S):
        return None
    missing = tuple(one.name for one in roles.moderators if one.key in drill.missing)
    late = bool(missing) and now > drill.at + DRILL_S
    return DrillView(roles.name_of(drill.by), float(drill.at), missing, late, me in drill.missing)


def _end_view(end: End | None) -> EndView | None:
    return None if end is None else EndView(end.state, end.words, end.successor)


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
    before = records.roles if isinstance(one.content, Roles) else records.decisions
    return ProposalView(
        id=proposal_id(one.document),
        author=records.roles.name_of(one.author),
        at=float(one.at),
        until=float(one.at + PROPOSAL_S),
        changes=tuple(changes(before, one.content, names, records.seal.founder)),
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


def changes(
    before: Roles | Decisions, after: Roles | Decisions, names: Names, founder: PeerId
) -> Iterator[DecisionChange]:
    """What is different after another list of the same kind.

    Args:
        before: What holds.
        after: What shall hold.
        names: Names of people.
        founder: The key that the manifest names.
    """
    if isinstance(after, Decisions) and isinstance(before, Decisions):
        yield from _decision_changes(before, after, names)
    elif isinstance(after, Roles) and isinstance(before, Roles):
        yield from _role_changes(before, after, names)
        yield from _issuer_changes(before, after, founder)


def _role_changes(before: Roles, after: Roles, names: Names) -> Iterator[DecisionChange]:
    for one in after.moderators:
        if one.key not in before.keys:
            yield DecisionChange(ModerationAct.ADD, one.name, one.key.hex(), names(PeerId(one.key)))
    for one in before.moderators:
        if one.key not in after.keys:
            yield DecisionChange(ModerationAct.REMOVE, one.name, one.key.hex())
    if any(before.name_of(one.key) not in {"", one.name} for one in after.moderators):
        yield DecisionChange(ModerationAct.OTHER, words="names")
    if after.threshold != before.threshold:
        yield DecisionChange(ModerationAct.AGREE, count=after.threshold)


def _issuer_changes(before: Roles, after: Roles, founder: PeerId) -> Iterator[DecisionChange]:
    """What becomes of each backbone's passes, also where a list no longer names it."""
    old, new = ({PeerId(one.key): one for one in each.issuers} for each in (before, after))
    was, ends = issuing(before.issuers, founder), issuing(after.issuers, founder)
    for key in dict.fromkeys([*ends, *was]):
        one, until = new.get(key) or old.get(key) or Issuer(key, FOUNDER_NAME), ends.get(key, 0.0)
        if (until, new.get(key)) == (was.get(key, 0.0), old.get(key)):
            continue
        if until == math.inf:
            yield DecisionChange(ModerationAct.BACKBONE, one.name, key.hex(), words=", ".join(_places(one)))
        elif until != was.get(key, 0.0):
            act = ModerationAct.RETIRE if until > after.at else ModerationAct.STOLEN
            yield DecisionChange(act, one.name, key.hex())
        else:
            yield DecisionChange(ModerationAct.OTHER, words="backbones")


def _places(issuer: Issuer) -> tuple[str, ...]:
    return tuple(map(str, issuer.places))


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
    shown = {"number", "roles", "previous", "author", "words", "revoked", "newcomers", "end"}
    others = [name for name in Decisions.__struct_fields__ if name not in shown]
    fields = [name for name in others if _is_hidden(name, before, after)]
    if fields:
        yield DecisionChange(ModerationAct.OTHER, words=", ".join(fields))
    if after.end != before.end:
        yield from _end_changes(after.end)
    if after.newcomers is not before.newcomers:
        yield DecisionChange(ModerationAct.CLOSE if after.newcomers is Newcomers.CLOSED else ModerationAct.OPEN)


def _end_changes(end: End | None) -> Iterator[DecisionChange]:
    if end is None:
        yield DecisionChange(ModerationAct.RESUME)
        return
    yield DecisionChange(ModerationAct.PAUSE if end.state is EndState.PAUSED else ModerationAct.END, words=end.words)
    if end.successor:
        yield DecisionChange(ModerationAct.SUCCESSOR, end.successor)


def _is_hidden(name: str, before: Decisions, after: Decisions) -> bool:
    """Whether a field is different in a way that no other line tells: nobody signs what they do not see."""
    old, new = getattr(before, name), getattr(after, name)
    if name in {"pardoned", "notices"}:
        return not set(old) <= set(new)
    return old != new and not (name == "back" and new is not None)
