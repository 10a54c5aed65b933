"""Tensors leave their memory and come back; tried with the processor's, whose storages torch empties as well."""

import torch

from core.training.standstill import Parked


def test_parked_tensors_come_back_with_views_and_numbers() -> None:
    whole, other = torch.arange(12.0), torch.ones(3, dtype=torch.float64)
    view = whole[4:8].view(2, 2)
    parked = Parked([whole, view, other])
    assert whole.untyped_storage().nbytes() == other.untyped_storage().nbytes() == 0
    parked.bring_back()
    assert whole.tolist() == list(range(12))
    assert view.tolist() == [[4.0, 5.0], [6.0, 7.0]]
    assert other.tolist() == [1.0, 1.0, 1.0]
    whole[5] = 50.0
    assert view[0, 1] == 50.0
