"""Words about the collaborations of this computer: cards, invitations, and what is founded."""

from app.words import page_text, text
from app.words.text import tr
from core.api.directory import DirectoryView
from core.api.hosting import BackboneState, JoinedView
from core.api.turns import WhyNot
from core.api.verdict import Verdict


def state(view: JoinedView, verdict: Verdict, *, first: str) -> tuple[str, str]:
    """A collaboration's state as a headline and a sentence.

    Args:
        view: The collaboration.
        verdict: What Potluck is doing, which counts where this one is served.
        first: Name of the one that is served, or comes first.
    """
    if not view.joined:
        return tr("Left"), tr("You founded it, and take no part in it now.")
    if view.served:
        return text.headline(verdict), page_text.reason(verdict) or text.sentence(verdict)
    if view.why_not is WhyNot.REFUSED and view.refusal is not None:
        return tr("Refused"), text.one_line(view.refusal.problem.whole.told(tr))
    if view.why_not is not None:
        headline = tr("Ended") if view.why_not is WhyNot.ENDED else tr("Not reached")
        return headline, page_text.why_not(view.name, view.why_not)
    if view.current:
        return text.headline(verdict), text.sentence(verdict)
    return tr("Waits"), tr("It is served when {name} needs nothing or cannot be reached.", text.plain(first))


def given(view: JoinedView) -> str:
    """What this computer gave, and when it last took part."""
    samples = tr("You gave {samples} samples", text.count(view.samples)) if view.samples else tr("You gave nothing yet")
    if view.served or not view.served_at:
        return tr("{samples}.", samples)
    return tr("{samples}; last took part {moment}.", samples, page_text.moment(view.served_at))


def notes(view: JoinedView) -> str:
    """What else there is to know: nobody comes in, from which one it goes on, how its backbone is."""
    said = [tr("Its moderators let nobody new in.")] if view.closed else []
    if view.alone:
        said.append(tr("It lives on this computer only, and ends where you join others."))
    if view.goes_on_from:
        said.append(tr("It goes on from the model of an earlier collaboration."))
    match view.backbone:
        case BackboneState.RUNS:
            said.append(tr("You founded it: its backbone, which lets others in, runs as long as Potluck does."))
        case BackboneState.WAITS if view.backbone_refusal is not None:
            why = text.one_line(view.backbone_refusal.problem.whole.told(tr))
            said.append(tr("You founded it, but its backbone does not run: {why}", why))
        case BackboneState.WAITS:
            said.append(tr("You founded it: its backbone, which lets others in, starts with Potluck."))
        case BackboneState.OFF:
            said.append(tr("You founded it. Its backbone is off: nobody new comes in, the others train on for 4 days."))
    return " ".join(said)


def leaving(view: JoinedView) -> str:
    """What leaving does, before it is done."""
    said = tr("Its link is forgotten then, its files stay.")
    if view.backbone in {None, BackboneState.OFF}:
        return said
    own = tr(
        "You founded it: its backbone on this computer stops too, and the others train on for 4 days without it. "
        "You can come back here, with all that was given."
    )
    return f"{said} {own}"


def stopping(view: JoinedView) -> str:
    """What stopping the backbone does, before it is done."""
    return tr(
        "Nobody new can come in to {name} then. Those who are in train on for 4 days, and longer once it runs again.",
        text.plain(view.name),
    )


def directory(view: DirectoryView) -> str:
    """Who signed a list, when, and what of it cannot be used."""
    said = tr(
        "{name}, signed {moment} by the key {fingerprint}. Compare that with the one that its maker shows you.",
        text.plain(view.name),
        page_text.moment(view.made),
        view.fingerprint,
    )
    if not view.entries:
        said += " " + tr("It has no collaboration that can be used.")
    if view.left_out:
        said += " " + tr("{count} entries cannot be used, and were left out.", text.count(view.left_out))
    return said
