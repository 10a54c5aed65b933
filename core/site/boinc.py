"""The statistics export in BOINC's format, once a day: `tables.xml`, `user.gz`, `team.gz`, `host.gz`.

Sites that collect statistics of BOINC's projects read it.  Elements, their order and the encoding are those that
BOINC's `db_dump` writes: ISO 8859-1 in the first line, and each byte of UTF-8 beyond ASCII as a reference of its own.
A sample is a credit.  Only those are named who said yes; `tables.xml` counts all.  A host has a number, its owner's and
its credit; what kind of computer it is, this page does not know.
"""

import gzip
from collections import defaultdict
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

from core.api.site_view import COMPUTERS_MAX, SitePerson, SiteView
from core.site.teams import Account, Choices

FILES: Final = ("tables.xml", "user.gz", "team.gz", "host.gz")
NOBODY: Final = 1
"""BOINC's kind of a team that has named none."""
CPID_BYTES: Final = 16


class Stats:
    """The files of one day.

    Args:
        view: What the newest copy's ledger says.
        choices: Teams, and who said yes.
        averages: Recent averages by account.
        midnight: When these were so, and the export is made, Unix seconds.
    """

    def __init__(self, view: SiteView, choices: Choices, averages: Mapping[Account, float], midnight: float) -> None:
        self._view = view
        self._choices = choices
        self._averages = averages
        self._at = int(midnight)
        self._people = {one.account: one for one in view.people if one.name}
        """People who are not shut out, by account."""

    def files(self) -> dict[str, bytes]:
        """All four files, by their names."""
        users, hosts = _document("users", self._users()), _document("hosts", self._hosts())
        made = {"user.gz": users, "team.gz": _document("teams", self._teams()), "host.gz": hosts}
        packed = {name: gzip.compress(data, mtime=self._at) for name, data in made.items()}
        return {"tables.xml": self._tables(), **packed}

    def _tables(self) -> bytes:
        computers = sum(samples > 0 for one in self._people.values() for samples in one.computers)
        totals = {
            "update_time": self._at,
            "nusers_total": len(self._people),
            "nteams_total": sum(1 for _ in self._counted_teams()),
            "nhosts_total": computers,
            "total_credit": _credit(self._view.samples),
        }
        application = _element("application", {"name": self._view.name})
        return _document("tables", [*_fields(totals), "<applications>", application, "</applications>", "<badges/>"])

    def _users(self) -> Iterable[str]:
        for one, number in self._exported():
            fields: dict[str, object] = {"id": number, "name": one.name, "create_time": 0, **self._credits([one])}
            fields["cpid"] = one.account.hex()
            if (team := self._choices.team_of.get(one.account)) is not None:
                fields["teamid"] = team
            yield _element("user", fields)

    def _teams(self) -> Iterable[str]:
        for number, members in self._counted_teams():
            team, founder = self._choices.teams[number], self._people.get(self._choices.teams[number].founder)
            exported = founder is not None and founder.account in self._choices.exported
            fields: dict[str, object] = {
                "id": number,
                "type": NOBODY,
                "name": team.name,
                "userid": self._choices.exported.get(team.founder, 0),
                **self._credits(members),
            }
            if founder is not None and exported:
                fields["founder_name"] = founder.name
            yield _element("team", fields | {"create_time": int(team.created), "country": "None"})

    def _hosts(self) -> Iterable[str]:
        for one, number in self._exported():
            for place, samples in enumerate(one.computers):
                if samples:
                    share = samples / one.samples
                    average = self._averages.get(one.account, 0.0) * share
                    host = blake2b(one.account + bytes([place]), digest_size=CPID_BYTES).hexdigest()
                    given = {"total_credit": _credit(samples), "expavg_credit": _credit(average)}
                    unknown = dict.fromkeys(("p_vendor", "p_model", "os_name", "os_version"), "")
                    fields = {"id": number * COMPUTERS_MAX + place, "userid": number, **given}
                    yield _element("host", fields | {"expavg_time": _credit(self._at), **unknown, "host_cpid": host})

    def _exported(self) -> Iterable[tuple[SitePerson, int]]:
        """Those who said yes and have counted samples, with their numbers, in their order."""
        numbers = sorted((number, account) for account, number in self._choices.exported.items())
        return ((self._people[account], number) for number, account in numbers if account in self._people)

    def _counted_teams(self) -> Iterable[tuple[int, list[SitePerson]]]:
        """Teams with a member whose samples have been counted, and these members."""
        members = defaultdict[int, list[SitePerson]](list)
        for account, number in self._choices.team_of.items():
            if account in self._people:
                members[number].append(self._people[account])
        return sorted(members.items())

    def _credits(self, people: Iterable[SitePerson]) -> dict[str, object]:
        given = list(people)
        average = sum(self._averages.get(one.account, 0.0) for one in given)
        total = sum(one.samples for one in given)
        times = {"expavg_credit": _credit(average), "expavg_time": _credit(self._at)}
        return {"total_credit": _credit(total), **times}


def _credit(number: float) -> str:
    return f"{number:f}"


def _document(name: str, elements: Iterable[str]) -> bytes:
    lines = ['<?xml version="1.0" encoding="iso-8859-1"?>', f"<{name}>", *elements, f"</{name}>", ""]
    return "\n".join(lines).encode("ascii")


def _element(name: str, fields: Mapping[str, object]) -> str:
    return "\n".join([f"<{name}>", *_fields(fields), f"</{name}>"])


def _fields(fields: Mapping[str, object]) -> list[str]:
    return [f" <{name}>{_escaped(str(value))}</{name}>" for name, value in fields.items()]


def _escaped(text: str) -> str:
    """Text as BOINC's `xml_escape` writes it."""
    return "".join(_letter(byte) for byte in text.encode("utf-8", "replace"))


def _letter(byte: int) -> str:
    if byte > 127:
        return f"&#{byte};"
    return {"<": "&lt;", "&": "&amp;"}.get(chr(byte), chr(byte) if byte >= 32 else "")
