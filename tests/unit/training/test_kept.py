"""What is kept about passes: it helps, or is as if it were not there."""

from pathlib import Path

import msgspec
import pytest

from core.training.devices.micro_batch import FILE_BYTES_MAX, FITS_MAX, BatchFit, KeptFits


def test_findings_are_kept_by_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "micro_batch.json"
    one, other = KeptFits(path, "one"), KeptFits(path, "other")
    assert one.fit is None
    one.keep(BatchFit(8))
    other.keep(BatchFit(16))
    assert KeptFits(path, "one").fit == BatchFit(8)
    assert KeptFits(path, "other").fit == BatchFit(16)
    one.keep(BatchFit(32))
    assert KeptFits(path, "one").fit == BatchFit(32)
    assert KeptFits(path, "none").fit is None


def test_a_finding_that_is_not_new_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "micro_batch.json"
    kept_fits = KeptFits(path, "one")
    kept_fits.keep(BatchFit(8))
    path.unlink()
    kept_fits.keep(BatchFit(8))
    assert not path.exists()
    kept_fits.keep(BatchFit(9))
    assert path.exists()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"one": {"size": 0}}', b'{"one": {"size": "a"}}', b" " * (FILE_BYTES_MAX + 1)]
)
def test_a_file_that_cannot_be_read_is_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "micro_batch.json"
    path.write_bytes(content)
    kept_fits = KeptFits(path, "one")
    assert kept_fits.fit is None
    kept_fits.keep(BatchFit(4))
    assert KeptFits(path, "one").fit == BatchFit(4)


def test_a_place_that_cannot_be_written_ends_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    kept_fits = KeptFits(tmp_path / "file" / "micro_batch.json", "one")
    kept_fits.keep(BatchFit(4))
    assert kept_fits.fit == BatchFit(4)
    assert "file" in capfd.readouterr().err


def test_old_findings_make_room(tmp_path: Path) -> None:
    path = tmp_path / "micro_batch.json"
    for number in range(2 * FITS_MAX):
        KeptFits(path, str(number)).keep(BatchFit(number + 1))
    assert list(msgspec.json.decode(path.read_bytes())) == [str(number) for number in range(FITS_MAX, 2 * FITS_MAX)]
