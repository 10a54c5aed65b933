"""The sentences about moderators, and what they propose.  All go through `tr`."""

from collections.abc import Sequence
from datetime import datetime

from app.words.page_text import day, moment
from app.words.text import decimal, full, tr
from core.api.moderation import (
    FOUNDER_NAME,
    CopyView,
    DecisionChange,
    DrillView,
    EndView,
    HoldView,
    ModerationAct,
    ModerationView,
    PeopleView,
    ProposalView,
    whom,
)
from core.api.numbers import amount


def _named(name: str) -> str:
    return tr(FOUNDER_NAME) if name == FOUNDER_NAME else name


def _all(names: Sequence[str]) -> str:
    return ", ".join(map(_named, names))


def _day(unix_s: float) -> str:
    return day(datetime.fromtimestamp(unix_s).astimezone())


def who_decides(view: ModerationView) -> str:
    """Who the moderators are, and how many of them have to agree."""
    named = [(_named(one.name), one.is_me) for one in view.moderators]
    names = ", ".join(tr("{name} (you)").format(name=name) if is_me else name for name, is_me in named)
    if len(view.moderators) == 1:
        return tr("{names} decides alone who is shut out, and whether everybody goes back to an earlier model.").format(
            names=names
        )
    if view.threshold == 1:
        return tr("{names}: each of them decides alone.").format(names=names)
    return tr("{names}: {count} of them have to agree.").format(names=names, count=view.threshold)


def also(view: ModerationView) -> str:
    """What holds now: notices, who is held, and whether newcomers come in."""
    said = [tr("They say: {words}").format(words=words) for words in view.notices]
    if view.end is not None:
        said.append(_ended(view.end))
    if view.drill is not None:
        said.append(drill(view.drill))
    if view.newcomers == "closed":
        said.append(tr("Nobody new is let in at present."))
    if view.banned:
        said.append(tr("{count} computers are shut out.").format(count=amount(view.banned)))
    return "\n".join([*said, *map(_held, view.holds)])


def _ended(end: EndView) -> str:
    if end.state == "paused":
        return tr("They have paused the collaboration: {words}").format(words=end.words)
    if end.successor:
        return tr("They have ended the collaboration, and name one that goes on: {words}").format(words=end.words)
    return tr("They have ended the collaboration: {words}").format(words=end.words)


def drill(view: DrillView) -> str:
    """Who has not answered whether all moderators can still sign."""
    at, names, by = _day(view.at), _all(view.missing), _named(view.by)
    if not view.missing:
        return tr("{name} asked on {day} whether all moderators can still sign: all have.").format(name=by, day=at)
    if view.is_late:
        return tr(
            "{name} asked on {day} whether all moderators can still sign. {names} have not for 7 days: if they are "
            "gone, put others in their place."
        ).format(name=by, day=at, names=names)
    return tr("{name} asked on {day} whether all moderators can still sign. Not yet signed: {names}.").format(
        name=by, day=at, names=names
    )


def _held(one: HoldView) -> str:
    until, name = moment(one.until), one.name or one.key[:8]
    if not one.words:
        return tr("{name} is held until {until}.").format(name=name, until=until)
    return tr("{name} is held until {until}: {words}").format(name=name, until=until, words=one.words)


def proposal(one: ProposalView) -> str:
    """What somebody proposes, why, and who has signed it."""
    author, changes = _named(one.author), "; ".join(map(_change, one.changes))
    said = tr("{author} proposes: {changes}.").format(author=author, changes=changes)
    if one.words:
        said += " " + tr("Why: {words}").format(words=one.words)
    until = _day(one.until)
    signed = tr("Signed by {names}; {count} missing, until {until}.").format(
        names=_all(one.signed), count=one.missing, until=until
    )
    return f"{said}\n{signed}"


def _change(one: DecisionChange) -> str:
    said = {
        ModerationAct.BAN: tr("shut out {name}"),
        ModerationAct.PARDON: tr("let {name} in again"),
        ModerationAct.NOTICE: tr("tell everybody: {words}"),
        ModerationAct.CLOSE: tr("let nobody new in"),
        ModerationAct.OPEN: tr("let newcomers in by invitations again"),
        ModerationAct.ADD: tr("make {name} a moderator"),
        ModerationAct.REMOVE: tr("take {name} from the moderators"),
        ModerationAct.AGREE: tr("have {count} of them agree"),
        ModerationAct.BACKBONE: tr("have the backbone {name} let people in, at {words}"),
        ModerationAct.RETIRE: tr("have the backbone {name} let nobody in any more"),
        ModerationAct.STOLEN: tr("end all passes that the backbone {name} has given"),
        ModerationAct.PAUSE: tr("have nobody compute: {words}"),
        ModerationAct.RESUME: tr("have everybody compute again"),
        ModerationAct.END: tr("end the collaboration: {words}"),
        ModerationAct.SUCCESSOR: tr("ask everybody whether they go on at {name}"),
        ModerationAct.GO_BACK: tr("go back to the model of step {count}, root {name}"),
        ModerationAct.OTHER: tr("change {words} in a way that has no word here"),
    }
    return said[one.act].format(name=whom(one), words=one.words, count=amount(one.count))


def parts_note(view: PeopleView) -> str:
    """What the numbers of people's parts mean, or that there are none."""
    if all(one.parts is None for one in view.people):
        return tr("This computer has averaged nobody's parts since it started.")
    return tr(
        "Norm and cosine compare somebody's parts with the others', where this computer averaged them. Few samples "
        "alone make a part long, and its direction unlike the others'. They prove nothing by themselves."
    )


def copy_line(one: CopyView) -> str:
    """A copy of the model: when it came, and how good it is."""
    came = moment(one.came)
    said = tr("Copy {number}: step {epoch}, {came}").format(number=one.number, epoch=amount(one.epoch), came=came)
    if one.loss is not None:
        said += ", " + tr("held-out loss {loss}").format(loss=decimal(f"{one.loss:.3f}"))
    return f"{full(said)} {tr('Everybody has gone back to it.')}" if one.chosen else full(said)


def going_back(one: CopyView) -> str:
    """What follows when all go back to a copy."""
    return tr(
        "All computers go back to step {epoch} once enough moderators have agreed. Steps since then are not kept; "
        "a later copy can be gone back to in the same way."
    ).format(epoch=amount(one.epoch))
