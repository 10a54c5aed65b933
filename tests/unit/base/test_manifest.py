import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.manifest import (
    MANIFEST_BYTES_MAX,
    PAPER_LAMB,
    AveragingNumbers,
    Manifest,
    read_manifest,
    sign_manifest,
)
from core.base.problems import BadInput, NotTrusted
from core.base.signing import Ed25519Verifier, KeyPair

KEY = KeyPair(b"k" * 32)


FOUNDED_EARLIER = (
    '{"format":1,"name":"n","summary":"","organiser":"o","task":"albert","numbers":{"a":2.5,"b":1},"blobs":{},'
    '"optimizer":{"name":"lamb","learning_rate":0.02,"beta1":0.8,"beta2":0.999,"epsilon":1e-6,"weight_decay":0.01,'
    '"clamp":10000.0,"max_grad_norm":1.0,"warmup_epochs":5000,"total_epochs":125000},"averaging":{"codec":"u8",'
    '"chunk_numel":65536,"gather_timeout_s":3.0,"stall_timeout_s":6.0,"round_timeout_s":30.0},"target_samples":4096,'
    '"evaluate_every":5,"authority":"8320a51977d8c38ca8a4927c670df5821e449761945e15e9efb26a1509d230ea"}'
)
"""The canonical text of a manifest as version 0.1.0 made it, when LAMB was the only optimiser; its id and signature."""
FOUNDED_EARLIER_ID = "76d9f5b5ecb906a1a0c0b36402ff91b5de8cf63f6dd21aac4a9b968a671b5198"
FOUNDED_EARLIER_SIGNATURE = (
    "505f2660c237f029137e1a488dcdc9b40a3af33eebffe91b001d579e6ec45617"
    "d651ba99b7ee1a8018910c60d775716c9cb6da701c03a3c1a38ab9cd0b821b0d"
)


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
        with pytest.raises(BadInput, match="not a manifest") as refused:
            read_manifest(text.replace(old, new), Ed25519Verifier())
        assert refused.value.hint.startswith("Update Potluck"), "a newer version may know it"


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
    assert b"rule" not in plain.canonical()
    assert b"aggregator" not in plain.canonical()
    assert b"trimmed_share" not in plain.canonical()
    assert plain.averaging.aggregator_name == "mean"
    assert not plain.averaging.overlaps
    read = read_manifest(sign_manifest(delayed, KEY), Ed25519Verifier())
    assert read == delayed
    assert read.averaging.overlaps
    assert not AveragingNumbers(delayed=False).overlaps


def test_a_manifest_founded_earlier_keeps_its_id_and_signature() -> None:
    data = f'{{"manifest":{FOUNDED_EARLIER},"signature":"{FOUNDED_EARLIER_SIGNATURE}"}}'.encode()
    read = read_manifest(data, Ed25519Verifier())
    assert read.id.hex() == FOUNDED_EARLIER_ID
    assert read.canonical().decode() == FOUNDED_EARLIER
    assert read_manifest(sign_manifest(read, KEY), Ed25519Verifier()) == read


def test_the_id_ignores_the_order_of_an_optimizer_s_numbers() -> None:
    numbers = dict(PAPER_LAMB)
    backwards = dict(reversed(numbers.items()))
    assert (
        manifest(optimizer=backwards).canonical() == manifest(optimizer=numbers).canonical() == manifest().canonical()
    )
    assert manifest(optimizer=numbers | {"beta1": 0.8}).id != manifest().id
    more = {"zeta": 1, "alpha": 2, "name": "new"}
    assert b'"optimizer":{"name":"new","alpha":2,"zeta":1}' in manifest(optimizer=more).canonical()


def test_the_id_ignores_the_order_of_a_rule_s_numbers() -> None:
    numbers = {"name": "local", "steps": 3, "optimizer": {"name": "sgd", "momentum": 0.5}}
    one, other = manifest(rule=numbers), manifest(rule=dict(reversed(numbers.items())))
    assert one.id == other.id != manifest().id
    assert read_manifest(sign_manifest(other, KEY), Ed25519Verifier()) == one


def test_an_aggregator_has_numbers_of_its_own() -> None:
    numbers = {"name": "centered_clip", "clip": 2.0, "other": 1}
    one, other = (
        manifest(averaging=AveragingNumbers(aggregator=dict(way)))
        for way in (numbers.items(), reversed(numbers.items()))
    )
    assert one.id == other.id != manifest().id
    read = read_manifest(sign_manifest(other, KEY), Ed25519Verifier()).averaging
    assert (read.aggregator_name, read.aggregator_numbers) == ("centered_clip", {"clip": 2.0, "other": 1})
    assert not read.is_mean
    old = AveragingNumbers(aggregator="trimmed_mean", trimmed_share=0.25)
    assert (old.aggregator_name, old.aggregator_numbers) == ("trimmed_mean", {"trim": 0.25})


@pytest.mark.parametrize("share", [-0.1, 0.5, 2])
def test_a_trimmed_share_out_of_bounds_is_refused(share: float) -> None:
    good = manifest(averaging=AveragingNumbers(aggregator="trimmed", trimmed_share=0.25))
    text = sign_manifest(good, KEY)
    assert read_manifest(text, Ed25519Verifier()).averaging.trimmed_share == 0.25
    with pytest.raises(BadInput, match="not a manifest"):
        read_manifest(text.replace(b"0.25", str(share).encode()), Ed25519Verifier())


def test_a_seed_is_all_that_chance_follows_from() -> None:
    first, second = manifest(name="a", seed=3), manifest(name="b", seed=3)
    assert first.id != second.id
    assert first.chance == second.chance != manifest(seed=4).chance
    assert manifest().chance == manifest().id
    assert b"seed" not in manifest().canonical()
    assert read_manifest(sign_manifest(first, KEY), Ed25519Verifier()).seed == 3
    with pytest.raises(BadInput):
        read_manifest(sign_manifest(manifest(seed=2**53), KEY), Ed25519Verifier())
