"""Files that are small where they lie, and unfold to more memory than a computer has."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest
from pyarrow import parquet

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.system import memory_bound
from core.system.usage import peak_memory
from core.text.sources import parquet as parquet_files
from core.text.sources.opening import open_source
from core.text.sources.patient import PatientShards, untold
from core.text.sources.source import Access, ShardUnreadable

ROWS = 64
"""A batch of the reader's."""
MEGABYTE = 1 << 20


def one_value(path: Path, value: str, compression: str) -> Path:
    """A table of which each row has the same long text, which is stored once."""
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(ROWS, dtype=np.int32)), pa.array([value]))
    parquet.write_table(pa.table({"text": texts}), path, compression=compression)
    return path


def read(path: Path) -> Iterable[object]:
    return PatientShards(open_source(DataSource(address=str(path)), Access(folder=path)), untold).read(0)


def test_value_of_all_rows_is_unpacked_for_one(tmp_path: Path) -> None:
    path = one_value(tmp_path / "a.parquet", "b" * (48 * MEGABYTE), "zstd")
    assert path.stat().st_size < 10_000
    before = peak_memory()
    with pytest.raises(ShardUnreadable) as caught:
        list(read(path))
    assert caught.value.code == DataCode.TOO_LARGE
    assert peak_memory() - before < 8 * 48 * MEGABYTE  # 64 of them at a time took 6 GB


def test_dictionary_is_not_opened_to_find_it_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its values may be a text, and all of them are held at once."""
    monkeypatch.setattr(parquet_files, "PAGE_BYTES_MAX", 32 * MEGABYTE)
    values = pa.array([str(n) * MEGABYTE for n in range(40)])
    texts = pa.DictionaryArray.from_arrays(pa.array(np.arange(40, dtype=np.int32)), values)
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": texts}), path, compression="zstd", dictionary_pagesize_limit=2**30)
    with pytest.raises(ShardUnreadable) as caught:
        list(read(path))
    assert caught.value.code == DataCode.TOO_LARGE


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux refuses a process memory")
def test_system_refuses_what_unfolds_and_nothing_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = one_value(tmp_path / "a.parquet", os.urandom(9 * MEGABYTE).hex(), "none")
    limits = psutil.Process().rlimit(psutil.RLIMIT_DATA)
    monkeypatch.setattr(memory_bound, "GROWTH_BYTES_MAX", 200 * MEGABYTE)
    with pytest.raises(ShardUnreadable) as caught:
        list(read(path))
    assert (caught.value.code, caught.value.arguments["name"]) == (DataCode.TOO_LARGE, "a.parquet")
    assert psutil.Process().rlimit(psutil.RLIMIT_DATA) == limits


def test_process_ends_with_sentence_where_no_system_refuses(tmp_path: Path) -> None:
    path = one_value(tmp_path / "a.parquet", os.urandom(9 * MEGABYTE).hex(), "none")
    program = (
        "import core.system.memory_bound as m, core.training.programs.data as d, sys;"
        f"m.REFUSES = False; m.GROWTH_BYTES_MAX = {200 * MEGABYTE}; sys.exit(d.main(sys.argv[1:]))"
    )
    asked = {"type": "inspect", "source": {"address": str(path)}, "sample_bytes": MEGABYTE}
    command = [sys.executable, "-c", program, "--asked", json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert done.returncode == 2, done.stderr
    assert b"unfolds to more memory than any text needs" in done.stdout
