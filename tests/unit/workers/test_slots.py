"""Slots of bytes that two processes share."""

import pytest

from core.workers.arena import SlotFile
from tests.blocks import counts_blocks, taken_bytes


def test_bytes_written_by_one_side_are_read_by_the_other(tmp_path):
    one = SlotFile.create(tmp_path / "slots", count=3, slot_bytes=5)
    other = SlotFile(tmp_path / "slots", count=3, slot_bytes=5)
    for number in range(3):
        one.slot(number)[:] = bytes([number] * 5)
    assert [bytes(other.slot(number)) for number in range(3)] == [bytes([number] * 5) for number in range(3)]


@pytest.mark.parametrize("number", [-1, 3])
def test_slot_that_does_not_exist_is_refused(tmp_path, number):
    with pytest.raises(IndexError):
        SlotFile.create(tmp_path / "slots", count=3, slot_bytes=5).slot(number)


def test_closing_while_a_slot_is_used_harms_nobody(tmp_path):
    slots = SlotFile.create(tmp_path / "slots", count=1, slot_bytes=5)
    view = slots.slot(0)
    slots.close()
    view[:] = b"abcde"
    assert bytes(view) == b"abcde"


@counts_blocks
def test_new_slots_have_no_holes(tmp_path):
    SlotFile.create(tmp_path / "slots", count=2, slot_bytes=400_000).close()
    assert taken_bytes(tmp_path / "slots") >= 800_000
