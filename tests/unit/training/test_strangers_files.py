"""Files of states that strangers gave."""

import json
from pathlib import Path

import pytest

from core.base.problems import Damaged
from tests.unit.training.test_checkpoint import LINEAGES, Place


def test_strangers_file_that_words_a_lack_of_memory_is_damaged(tmp_path: Path) -> None:
    """The library quotes names of tensors, and its words are read where this computer's own files lack something."""
    tensor = {"dtype": "F32", "shape": [1], "data_offsets": [8, 4]}
    header = json.dumps({"x (os error 12) Cannot allocate memory": tensor}).encode()
    path = tmp_path / "state.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(Damaged):
        Place(tmp_path / "own").files.load(path, wanted=(2, LINEAGES[2]))
