"""Rotations of moderators beside The Update Framework's own client, which is the referee.

Random lists, thresholds and signers: what `python-tuf` accepts as the next root is accepted here, and nothing else.
"""

from random import Random

import pytest

from core.authority.changes import new_roles
from core.authority.records import AuthorityRecords
from core.authority.roles import Moderator
from core.base.signing import KeyPair
from tests.unit.authority.people import FOUNDER, SEAL
from tests.unit.net.people import NOW, RUN, id_of, keys

metadata = pytest.importorskip("tuf.api.metadata", reason="the reference, python-tuf, is not installed")
exceptions = pytest.importorskip("tuf.api.exceptions", reason="the reference, python-tuf, is not installed")
signer = pytest.importorskip("securesystemslib.signer", reason="the reference, python-tuf, is not installed")
ROTATIONS = 2000
PEOPLE = ("authority", "anna", "ben", "cleo", "dora", "emil")


def tuf_key(pair: KeyPair):
    return signer.CryptoSigner(pair.private_key)


TUF_KEYS = {name: tuf_key(keys(name)) for name in PEOPLE}


def root(number: int, people: list[str], threshold: int):
    role = metadata.Role([TUF_KEYS[name].public_key.keyid for name in people], threshold)
    others = {name: metadata.Role([], 1) for name in ("timestamp", "snapshot", "targets")}
    known = {TUF_KEYS[name].public_key.keyid: TUF_KEYS[name].public_key for name in people}
    return metadata.Metadata(metadata.Root(version=number + 1, keys=known, roles={"root": role, **others}))


def accepts(old, new) -> bool:
    """What a TUF client does with an intermediate root (section 5.3.4 and 5.3.5)."""
    if new.signed.version != old.signed.version + 1:
        return False
    try:
        old.signed.verify_delegate("root", new.signed_bytes, new.signatures)
        new.signed.verify_delegate("root", new.signed_bytes, new.signatures)
    except exceptions.UnsignedMetadataError:
        return False
    return True


def test_what_tuf_accepts_is_accepted_and_nothing_else():
    random, taken = Random(7), 0
    records, theirs = AuthorityRecords(FOUNDER, RUN), root(0, ["authority"], 1)
    holders = ["authority"]
    for _ in range(ROTATIONS):
        people = random.sample(PEOPLE, random.randrange(1, len(PEOPLE) + 1))
        threshold = random.randrange(1, len(people) + 1)
        author = random.choice(holders)
        moderators = [Moderator(id_of(name), name) for name in people]
        ours = new_roles(records, keys(author), NOW, moderators=moderators, threshold=threshold)
        signers = {author, *random.sample(PEOPLE, random.randrange(len(PEOPLE)))}
        for name in signers:
            ours = SEAL.countersign(ours, keys(name))
        new = root(records.roles.number + 1, people, threshold)
        for name in signers:
            new.sign(TUF_KEYS[name], append=True)
        before = records.in_force
        records.take(ours, NOW)
        assert (records.in_force != before) is accepts(theirs, new)
        if records.in_force != before:
            taken, theirs, holders = taken + 1, new, people
        if records.roles.number > 200:  # a chain has an end
            records, theirs, holders = AuthorityRecords(FOUNDER, RUN), root(0, ["authority"], 1), ["authority"]
    assert ROTATIONS / 10 < taken < ROTATIONS * 0.9
