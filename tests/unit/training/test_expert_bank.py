"""The files of hosted experts where something went wrong before, and the memory that experts may take."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from core.training.experts.bank import ExpertBank
from core.workers.expert_files import expert_files, version_of
from core.workers.expert_frames import ExpertLacking, ExpertSaved, ExpertTaken, SaveExpert, TakeExpert, YieldExpert
from tests.unit.training.experts import PLACE, RUN, Hosted, numbers
from tests.unit.training.test_experts import drawn, even


@pytest.fixture
def hosted(tmp_path):
    return Hosted(tmp_path)


def test_damaged_file_is_set_aside_for_the_one_before(hosted):
    paths = []
    for version in (3, 4):
        hosted.expert.version = version
        paths.append(hosted.bank.save((0, PLACE)).path)
    paths[1].write_bytes(b"damaged")
    hosted.tell(YieldExpert(layer=0, place=PLACE), TakeExpert(layer=0, place=PLACE, path=str(paths[1])))
    assert isinstance(hosted.said.pop(), ExpertLacking)
    assert expert_files(paths[0].parent)[0, PLACE] == paths[:1]
    hosted.tell(TakeExpert(layer=0, place=PLACE, path=str(paths[0])))
    assert hosted.said.pop() == ExpertTaken(layer=0, place=PLACE, version=3)


def test_expert_that_began_anew_keeps_its_own_file(hosted):
    for version in (1000, 1001, 5, 6, 7):
        hosted.expert.version = version
        file = hosted.bank.save((0, PLACE))
        assert file.path in expert_files(file.path.parent)[0, PLACE]
    assert len(expert_files(file.path.parent)[0, PLACE]) == 2


def test_flipped_bit_in_a_file_is_damage(hosted):
    """What it holds is a state like any other, and only its digest tells."""
    path = hosted.bank.save((0, PLACE)).path
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    hosted.tell(YieldExpert(layer=0, place=PLACE), TakeExpert(layer=0, place=PLACE, path=str(path)))
    lacking = hosted.said.pop()
    assert isinstance(lacking, ExpertLacking)
    assert lacking.damaged
    assert not expert_files(path.parent)


@pytest.mark.parametrize("is_there", [True, False])
def test_expert_without_numbers_goes_back_to_where_it_came_from(hosted, is_there):
    hosted.expert.version = 7
    path = hosted.bank.save((0, PLACE)).path
    hosted.tell(YieldExpert(layer=0, place=PLACE), TakeExpert(layer=0, place=PLACE, path=str(path)))
    if not is_there:
        path.write_bytes(b"damaged")
    with torch.no_grad():
        next(hosted.expert.module.parameters()).fill_(torch.nan)
    done, _ = hosted.ask(((drawn(3, 4),), {}))
    assert (done.version, done.malformed) == (7 if is_there else 0, ())


@pytest.mark.parametrize("is_saved", [True, False])
def test_expert_without_numbers_needs_no_further_memory(hosted, monkeypatch, is_saved):
    """Its card is full; a problem that left the worker would end the hosting until the person resumes."""
    hosted.expert.version = 7
    if is_saved:
        hosted.bank.save((0, PLACE))

    def full(module, device):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")

    with torch.no_grad():
        next(hosted.expert.module.parameters()).fill_(torch.nan)
    monkeypatch.setattr(torch.nn.Module, "to", full)
    done, answers = hosted.ask(((drawn(3, 4),), {}))
    assert (done.version, done.malformed) == (7 if is_saved else 0, ())
    assert np.isfinite(answers[0]).all()


def test_version_stays_one_that_a_file_may_have(hosted):
    hosted.expert.version = 1 << 40
    hosted.learn(drawn(1, 8), even(1, 8))
    path = hosted.bank.save((0, PLACE)).path
    hosted.tell(YieldExpert(layer=0, place=PLACE), TakeExpert(layer=0, place=PLACE, path=str(path)))
    assert hosted.said.pop() == ExpertTaken(layer=0, place=PLACE, version=1 << 40)


def test_experts_beyond_the_memory_of_a_card_are_not_promised(tmp_path, monkeypatch):
    small = numbers()
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2 * 9 * 4 * small.expert_bytes, 1 << 40))
    bank = ExpertBank(small, run=RUN, folder=tmp_path, device="cuda:0", memory_bytes=1 << 40)
    assert bank.places_max == 9


def test_expert_without_room_on_its_device_is_refused(hosted, monkeypatch):
    def full(module, device):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")

    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.Module, "to", full)
        hosted.tell(TakeExpert(layer=0, place=(0, 0)))
    assert isinstance(hosted.said.pop(), ExpertLacking)
    hosted.tell(TakeExpert(layer=0, place=(0, 0)))
    assert isinstance(hosted.said.pop(), ExpertTaken)


def test_last_file_is_the_newest_after_the_clock_was_ahead(hosted):
    """The computer's clock said a later year when two states were written, and was set right."""
    for version in (3, 4):
        hosted.expert.version = version
        path = hosted.bank.save((0, PLACE)).path
        os.utime(path, (path.stat().st_mtime + 10**7 + version,) * 2)
    for version in (5, 6):
        hosted.expert.version = version
        path = hosted.bank.save((0, PLACE)).path
        kept = expert_files(path.parent)[0, PLACE]
        assert [version_of(one) for one in kept] == [version - 1, version]


def test_file_that_somebody_reads_ends_no_save(hosted, monkeypatch):
    """Windows deletes none that is open, as those are that the engine gives to others."""

    def refuse(path, unlink=Path.unlink, **how):
        if path.name.startswith("expert-"):
            raise PermissionError(13, "Access is denied", str(path))
        unlink(path, **how)

    monkeypatch.setattr(Path, "unlink", refuse)
    for version in (3, 4, 5):
        hosted.expert.version = version
        hosted.tell(SaveExpert(layer=0, place=PLACE))
        assert isinstance(hosted.said.pop(), ExpertSaved)
