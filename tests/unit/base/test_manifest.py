import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.manifest import MANIFEST_BYTES_MAX, AveragingNumbers, Manifest, read_manifest, sign_manifest
from core.base.problems import BadInput, NotTrusted
from core.base.signing import Ed25519Verifier, KeyPair

KEY = KeyPair(b"k" * 32)


def manifest(**changes: object) -> Manifest:
    fields: dict[str, object] = {"name": "n", "organiser": "o", "task": "albert", "authority": KEY.peer_id.hex()}
    return Manifest(**(fields | changes))  # type: ignore[arg-type]


def test_a_manifest_is_read_as_it_was_signed() -> None:
    made = manifest(numbers={"b": 1, "a": 2.5, "c": "text", "d": True})
    read = read_manifest(sign_manifest(made, KEY), Ed25519Verifier())
    assert read == made
    assert read.id == made.id


def test_id_follows_from_content_and_not_its_order() -> None:
    assert manifest(numbers={"a": 1, "b": 2}).id == manifest(numbers={"b": 2, "a": 1}).id
    assert manifest(target_samples=5).id != manifest(target_samples=6).id


def test_nobody_else_signs_a_manifest() -> None:
    with pytest.raises(ValueError, match="own authority"):
        sign_manifest(manifest(), KeyPair(b"x" * 32))


def test_a_changed_manifest_is_not_trusted() -> None:
    data = sign_manifest(manifest(target_samples=4096), KEY).replace(b"4096", b"4097")
    with pytest.raises(NotTrusted, match="signature is wrong"):
        read_manifest(data, Ed25519Verifier())


def test_unknown_fields_and_numbers_out_of_range_are_refused() -> None:
    text = sign_manifest(manifest(), KEY)
    for old, new in ((b'"task"', b'"tusk"'), (b'"target_samples": 4096', b'"target_samples": 0')):
        with pytest.raises(BadInput, match="not a manifest"):
            read_manifest(text.replace(old, new), Ed25519Verifier())


def test_a_huge_file_is_not_even_parsed() -> None:
    with pytest.raises(BadInput, match="allowed"):
        read_manifest(b"x" * (MANIFEST_BYTES_MAX + 1), Ed25519Verifier())


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes_are_a_manifest_or_bad_input(data: bytes) -> None:
    with pytest.raises((BadInput, NotTrusted)):
        read_manifest(data, Ed25519Verifier())


def test_it_carries_no_code() -> None:
    text = msgspec.json.decode(sign_manifest(manifest(), KEY))
    with pytest.raises(BadInput):
        read_manifest(msgspec.json.encode({**text, "code": "print(1)"}), Ed25519Verifier())


def test_a_manifest_says_nothing_of_what_it_does_not_use() -> None:
    """A word that came later must not rename the collaborations that were founded before it."""
    plain, delayed = manifest(), manifest(averaging=AveragingNumbers(delayed=True))
    assert b"delayed" not in plain.canonical()
    assert not plain.averaging.overlaps
    read = read_manifest(sign_manifest(delayed, KEY), Ed25519Verifier())
    assert read == delayed
    assert read.averaging.overlaps
    assert not AveragingNumbers(delayed=False).overlaps
