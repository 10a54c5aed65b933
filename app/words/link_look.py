"""Words for what a link leads to, for what it takes on this computer, and for links that lead nowhere."""

from typing import Final

from app.words import data_text, text
from app.words.text import tr
from core.api.look import JoinEstimate, LinkLook
from core.api.numbers import amount
from core.api.updates import NEWER

RETRY: Final = frozenset({"link.unreachable", "link.closed", "link.older", "join", "no_space", "user", "damaged"})
"""Codes of problems that may be over in a while."""
SCHEME: Final = "potluck:"
NEEDS_NEWER: Final = frozenset({f"link.{NEWER}", NEWER})
"""Codes of problems that a newer Potluck mends."""


def may_retry(code: str) -> bool:
    """Whether the same link may lead somewhere later; all others need another link, or another version."""
    return code in RETRY or code.startswith("sign_in.")


def facts(look: LinkLook) -> list[tuple[str, str, str]]:
    """The collaboration: names, titles and texts of its rows."""
    size = tr("{size} of files, then the model from other volunteers; numbers only, no programs")
    computers = look.computers
    present = tr("The organiser's computer does not say.") if computers is None else tr("{number} computers now")
    rows = [
        ("name", tr("Collaboration"), text.one_line(look.name)),
        ("organiser", tr("Organised by"), text.one_line(tr(look.organiser))),
        ("fingerprint", tr("Fingerprint"), text.one_line(look.fingerprint)),
        ("summary", tr("What for"), text.one_line(look.summary) or tr("The organiser does not say.")),
        ("computers", tr("Taking part"), present.format(number=amount(computers or 0))),
        ("download", tr("Download"), size.format(size=text.size(look.download_bytes))),
        ("account", tr("Account"), _account(text.one_line(look.site))),
    ]
    if look.goes_on_from:
        rows.insert(4, ("predecessor", tr("Goes on from"), text.one_line(look.goes_on_from)))
    if look.refusal is not None:
        words = text.one_line(look.refusal.problem.whole.told(tr))
        rows.append(("refusal", tr("Refused the last time"), tr("{why} It is asked again.", words)))
    if look.sources:
        rows.append(("sources", tr("Where its text comes from"), data_text.sources(look.sources)))
        rows.append(("rights", tr("Licence and credit"), data_text.rights(look.sources)))
    if hosts := sorted({text.one_line(source.host) for source in look.sources if source.host}):
        asks = ", ".join(hosts)
        if look.estimate.data_day_bytes is not None:
            day = text.size(round(look.estimate.data_day_bytes))
            asks = tr("{hosts}, about {size} a day", asks, day)
        rows.append(("hosts", tr("Reads from"), asks))
    if look.folder:
        only = tr("The folder {folder} of this computer; only a start in a terminal allows it: potluck engine --text")
        rows.append(("folder", tr("Wants to read"), only.format(folder=text.one_line(look.folder))))
    return rows


def _account(site: str) -> str:
    return tr("You sign in at {site}, in your browser.", site) if site else tr("None is needed: the link lets you in.")


def here(look: LinkLook) -> list[tuple[str, str, str]]:
    """This computer, and what taking part comes to: names, titles and texts of its rows."""
    computer, cost = look.computer, look.estimate
    cards = "".join(f", {text.one_line(card)}" for card in computer.cards)
    threads = tr("{threads} of {cores} processor threads, at low priority{cards}")
    lives = tr("Parts of the model live on members' computers and answer the others: here up to {size} of memory more.")
    experts = [("experts", tr("Experts"), lives.format(size=text.size(cost.experts_bytes)))]
    return [
        ("processor", tr("Computes on"), threads.format(threads=computer.threads, cores=computer.cores, cards=cards)),
        ("memory", tr("Memory"), _beside(cost.memory_bytes, tr("{size} in this computer"), computer.memory_bytes)),
        *(experts if cost.experts_bytes else []),
        ("disk", tr("Disk"), _beside(cost.disk_bytes, tr("{size} are free"), computer.disk_free_bytes)),
        ("line", tr("Network"), _line(look)),
        ("reach", tr("How others reach it"), _reach(look)),
        ("estimate", tr("In all"), estimate(cost)),
    ]


def estimate(cost: JoinEstimate) -> str:
    """The sentence that adds up share, power and traffic; what is not known is said to be unknown."""
    known = []
    if cost.share is not None:
        known.append(tr("{share} of this collaboration", text.percent(cost.share)))
    if cost.watts is not None:
        known.append(tr("{watts} W while it computes", amount(cost.watts)))
    if cost.day_bytes is not None:
        known.append(tr("{size} a day", text.size(round(cost.day_bytes))))
    unknown = [
        word
        for word, value in (
            (tr("share"), cost.share),
            (tr("power"), cost.watts),
            (tr("traffic a day"), cost.day_bytes),
        )
        if value is None
    ]
    said = [tr("About {known}: an estimate.", ", ".join(known))] if known else []
    said += [tr("Known after the start only: {unknown}.", ", ".join(unknown))] if unknown else []
    return " ".join(said)


def _beside(needed: int | None, beside: str, size: int) -> str:
    have = beside.format(size=text.size(size))
    if needed is None:
        return tr("Not known before the start; {have}", have)
    said = tr("About {needed}; {have}", text.size(needed), have)
    return tr("{said}. That is too little.", said) if needed > size else said


def _line(look: LinkLook) -> str:
    computer, cost = look.computer, look.estimate
    if not computer.connected:
        return tr("This computer is in no network now.")
    cost_words = {
        True: tr("The system says that it costs by the megabyte: Potluck leaves it alone."),
        False: tr("It does not cost by the megabyte."),
        None: tr("The system does not say whether it costs."),
    }[computer.metered]
    if cost.epoch_bytes is None:
        return cost_words
    return tr("Up to {size} each way for a step of the model. {cost}", text.size(cost.epoch_bytes), cost_words)


def _reach(look: LinkLook) -> str:
    if look.computer.router:
        return tr("Through a router; nothing has to be set up for that. The window says more after the start.")
    return tr("Known after the start; nothing has to be set up for that.")
