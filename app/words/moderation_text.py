"""The sentences about moderators, and what they propose.  All go through `tr`."""

import time

from app.words.text import tr
from core.api.moderation import DecisionChange, HoldView, ModerationAct, ModerationView, ProposalView
from core.api.numbers import amount


def who_decides(view: ModerationView) -> str:
    """Who the moderators are, and how many of them have to agree."""
    names = ", ".join(tr("{name} (you)").format(name=one.name) if one.is_me else one.name for one in view.moderators)
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
    if view.newcomers == "closed":
        said.append(tr("Nobody new is let in at present."))
    if view.banned:
        said.append(tr("{count} computers are shut out.").format(count=amount(view.banned)))
    return "\n".join([*said, *map(_held, view.holds)])


def _held(one: HoldView) -> str:
    until, name = time.strftime("%x %H:%M", time.localtime(one.until)), one.name or one.key[:8]
    if not one.words:
        return tr("{name} is held until {until}.").format(name=name, until=until)
    return tr("{name} is held until {until}: {words}").format(name=name, until=until, words=one.words)


def proposal(one: ProposalView) -> str:
    """What somebody proposes, why, and who has signed it."""
    said = tr("{author} proposes: {changes}.").format(author=one.author, changes="; ".join(map(_change, one.changes)))
    if one.words:
        said += " " + tr("Why: {words}").format(words=one.words)
    until = time.strftime("%x", time.localtime(one.until))
    signed = tr("Signed by {names}; {count} missing, until {until}.").format(
        names=", ".join(one.signed), count=one.missing, until=until
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
        ModerationAct.GO_BACK: tr("go back to the model of epoch {count}, root {name}"),
        ModerationAct.OTHER: tr("change {words} in a way that has no word here"),
    }
    return said[one.act].format(name=one.name or one.key[:8], words=one.words, count=amount(one.count))
