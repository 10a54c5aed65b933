"""The English documentation that came with Python: docstrings of its library, which is parsed and never run."""

import sysconfig
from pathlib import Path

from core.base.data_source import DataSource
from core.text.sources.file_shards import FileShards
from core.text.sources.folder import Folder
from core.text.sources.source import Access


def open_place(source: DataSource, access: Access) -> FileShards:
    """The library of the Python that runs (`core.text.sources.source.PLACES`)."""
    return FileShards(Folder(Path(sysconfig.get_paths()["stdlib"]), suffix=".py"), source, access, form="docstrings")
