"""Versions of files: whether a file is still the one that it was when it was first looked at."""

from core.api.data_state import DataCode
from core.text.sources.source import SourceStalled

Version = tuple[str, ...]
"""Marks of a file, such as its time and its ETag, each empty where nobody says."""


class SeenVersions:
    """The version of each file that is read, so that nobody gets half of one and half of the next."""

    def __init__(self) -> None:
        self._seen: dict[str, Version] = {}

    def check(self, file: str, version: Version, *, name: str) -> None:
        """See to it that a file is the one that it was; what has become of it counts from here on.

        One mark that agrees is enough: servers that share the work may give a file an ETag each.

        Args:
            file: Where it is.
            version: As it is now.
            name: What people are shown.

        Raises:
            SourceStalled: it is another one.
        """
        before = self._seen.setdefault(file, version)
        known = [(then, now) for then, now in zip(before, version, strict=True) if then and now]
        if known and all(then != now for then, now in known):
            self._seen[file] = version
            raise SourceStalled(DataCode.FILE_CHANGED, name=name)
