"""The link by which people join: where the backbone is, which collaboration it must be, and the invitation."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from core.base.problems import BadInput

SCHEME = "potluck"
_MANIFEST = re.compile(r"^/([0-9a-f]{64})/?$")
_INVITE = re.compile(r"^[A-Za-z0-9_-]{1,128}$")


@dataclass(frozen=True, slots=True)
class Link:
    """A link as people pass it on: `potluck://host:port/<manifest id in hex>#<invitation>`."""

    host: str
    port: int
    manifest_id: bytes
    invite: str

    def __str__(self) -> str:
        return f"{SCHEME}://{self.where}/{self.manifest_id.hex()}#{self.invite}"

    @property
    def where(self) -> str:
        """Host and port of the backbone, as people read them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def base_url(self) -> str:
        """Where the backbone's welcome desk answers."""
        return f"https://{self.where}"


def parse_link(text: str) -> Link:
    """The link in `text`.

    Raises:
        BadInput: it is none; the sentence says what is missing.
    """
    hint = "A link looks like potluck://host:port/0123…#invitation; copy the whole of it from the organiser."
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadInput(f"This link cannot be read: {error}.", hint=hint) from error
    if parts.scheme != SCHEME or not host or not port:
        raise BadInput("This is not a Potluck link.", hint=hint)
    manifest = _MANIFEST.match(parts.path)
    if manifest is None:
        raise BadInput("This link does not say which collaboration it leads to.", hint=hint)
    if not _INVITE.match(parts.fragment):
        raise BadInput("This link has no invitation.", hint=hint)
    return Link(host, port, bytes.fromhex(manifest[1]), parts.fragment)
