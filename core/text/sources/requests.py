"""What `potluck data` and `potluck tokenizer` ask of their child process, as JSON on its command line."""

from typing import Literal

import msgspec

from core.base.data_source import DataSource


class InspectRequest(msgspec.Struct, frozen=True, kw_only=True, tag="inspect"):
    """Asks what there is in a source."""

    source: DataSource
    sample_bytes: int
    tokenizer: str = ""
    """Path of a tokenizer; empty: one is trained on the sample."""


class CutRequest(msgspec.Struct, frozen=True, kw_only=True, tag="cut"):
    """Asks to cut a source into shards."""

    source: DataSource
    out: str
    """Path of a folder, or a URL."""
    index_copy: str = ""
    """Path of a file for the index, beside the one with the shards: a recipe names no index elsewhere; empty: none."""
    ending: Literal["jsonl", "jsonl.gz", "jsonl.zst"]
    shard_bytes: int
    mirrors: tuple[str, ...] = ()


class VerifyRequest(msgspec.Struct, frozen=True, kw_only=True, tag="verify"):
    """Asks to hold shards against their index."""

    address: str
    index: str = ""
    """Path of the index; empty: it lies beside the shards."""
    again: bool = False
    """Make shards that are wrong again, from the source that they were cut of."""


class TokenizerRequest(msgspec.Struct, frozen=True, kw_only=True, tag="tokenizer"):
    """Asks to train a tokenizer on a source."""

    source: DataSource
    out: str
    recipe: str
    vocab_size: int
    sample_bytes: int


class SampleRequest(msgspec.Struct, frozen=True, kw_only=True, tag="sample"):
    """Asks for one sample's row, made again from its number."""

    manifest: str
    """Path of the signed manifest."""
    blobs: str
    """Path of the folder of its files."""
    source: int
    shard: int
    row: int
    folder: str = ""
    """The folder or file that the person has named; no other one of this computer is read."""


DataRequest = SampleRequest | InspectRequest | CutRequest | VerifyRequest | TokenizerRequest
