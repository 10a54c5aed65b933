"""The collaborations that this computer has joined: their links by priority, of which the first is the current one.

A link holds an invitation, so the file is for its owner only.  Beside a link stands why this computer was refused the
last time, until it is let in or joins again.  What a collaboration has left on the disk stays there
when its link is removed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from core.api.joined import FILE_BYTES_MAX, LETTERS_MAX, LINKS_MAX, KeptLinks, KeptRefusal
from core.backbone.link import Link, parse_link
from core.base.manifest import Manifest, read_manifest
from core.base.problems import BadInput, Damaged, Problem, quoted
from core.base.signing import Ed25519Verifier
from core.storage.paths import Home
from core.system.atomic_files import make_directory, read_bounded, set_aside, write_atomic


@dataclass(frozen=True, slots=True)
class KeptCollaboration:
    """A collaboration that was joined."""

    link: Link
    manifest: Manifest | None
    """None: it was never reached, or its manifest is damaged."""
    folder: Path
    """What this computer keeps of it."""
    refusal: KeptRefusal | None = None
    """Why this computer could not take part the last time; None: it could, or has not asked yet."""

    @property
    def id(self) -> str:
        """Hex digest of the manifest."""
        return self.link.manifest_id.hex()

    @property
    def name(self) -> str:
        """The manifest's name for it, else the beginning of its id."""
        return self.manifest.name if self.manifest is not None else self.id[:16]


class Collaborations:
    """Keeps the links of the joined collaborations in one file, by priority.

    Args:
        home: Where they are kept.
    """

    def __init__(self, home: Home) -> None:
        self._home = home

    @property
    def current(self) -> Link | None:
        """The one that an engine goes to first; None: none was joined, or all were left."""
        return next(iter(self._links()[0]), None)

    def all(self) -> list[KeptCollaboration]:
        """All that were joined and not left, the current one first."""
        links, refused = self._links()
        return [self._kept(link, refused.get(str(link))) for link in links]

    def manifest(self, collaboration: str) -> Manifest | None:
        """What is known of a collaboration, by its id; None: it was never reached, or is damaged."""
        try:
            data = (self._home.state(collaboration) / "manifest.json").read_bytes()
            return read_manifest(data, Ed25519Verifier())
        except (OSError, Problem):
            return None

    def keep(self, link: Link, signed_manifest: bytes = b"") -> None:
        """Make a collaboration the current one; an older link to it is forgotten.

        Args:
            link: Leads to it.
            signed_manifest: Kept for its name and organiser, and an earlier refusal is forgotten; empty: not known yet.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        if signed_manifest:
            folder = self._home.state(link.manifest_id.hex())
            make_directory(folder)
            write_atomic(folder / "manifest.json", signed_manifest)
        links, refused = self._links()
        if signed_manifest:
            refused.pop(str(link), None)
        others = [other for other in links if other.manifest_id != link.manifest_id]
        self._save([link, *others][:LINKS_MAX], refused)

    def note(self, link: Link, refusal: Problem | None) -> None:
        """Keep why a collaboration lets this computer not take part, or that it does, if it was joined.

        Args:
            link: Leads to it.
            refusal: What it said; None: it lets this computer in.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        links, refused = self._links()
        before = refused.pop(str(link), None)
        now = None
        if refusal is not None:
            said = refusal.said if len(str(refusal)) <= LETTERS_MAX else ()
            now = KeptRefusal(refusal.message[:LETTERS_MAX], refusal.hint[:LETTERS_MAX], said)
        if link not in links or before == now:
            return
        self._save(links, {**refused, **({str(link): now} if now else {})})

    def leave(self, named: str) -> KeptCollaboration:
        """Forget the link of a collaboration.

        Args:
            named: Its name, or how its id begins; empty: the current one.

        Raises:
            BadInput: there is none, or several are called so.
        """
        left = self.find(named)
        links, refused = self._links()
        others = [link for link in links if link.manifest_id != left.link.manifest_id]
        self._save(others, refused, left=left.name)
        return left

    def find(self, named: str) -> KeptCollaboration:
        """The collaboration of this name, or whose id begins so; empty: the current one.

        Raises:
            BadInput: there is none, or several are called so.
        """
        found = [kept for kept in self.all() if kept.name == named or kept.id.startswith(named)]
        if not found and not named:
            raise BadInput("This computer has joined no collaboration.", hint="Join one with: potluck join LINK")
        if not found or (named and len(found) > 1):
            several, none = "Several collaborations are called {name}.", "No collaboration is called {name}."
            hint = "See them with: potluck collaborations"
            raise BadInput(several if found else none, quoted(named, 60), hint=hint)
        return found[0]

    def _links(self) -> tuple[list[Link], dict[str, KeptRefusal]]:
        """The links in their order, and the refusals by link.

        Raises:
            Damaged: they cannot be read; the file was set aside, so that the next call begins anew.
        """
        try:
            data = read_bounded(self._home.collaborations_file, FILE_BYTES_MAX)
            kept = KeptLinks() if data is None else msgspec.json.decode(data, type=KeptLinks)
            return [parse_link(link) for link in kept.links], dict(kept.refused)
        except (ValueError, BadInput):
            aside = set_aside(self._home.collaborations_file)
        message = "The links of the collaborations could not be read; the damaged file was kept as {name}."
        raise Damaged(message, aside.name, hint="Join again with the organiser's link.")

    def _save(self, links: Sequence[Link], refused: Mapping[str, KeptRefusal], *, left: str = "") -> None:
        words = [str(link) for link in links]
        kept = KeptLinks(words, {word: refused[word] for word in words if word in refused}, left[:LETTERS_MAX])
        write_atomic(self._home.collaborations_file, msgspec.json.encode(kept))

    def _kept(self, link: Link, refusal: KeptRefusal | None) -> KeptCollaboration:
        collaboration = link.manifest_id.hex()
        return KeptCollaboration(link, self.manifest(collaboration), self._home.state(collaboration), refusal)
