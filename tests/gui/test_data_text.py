"""Sentences of the window about the text that is learned from."""

import msgspec

from app.words import data_text
from core.api import verdict as verdicts
from core.api.data_state import SOON_S, DataCode, DataView, SourceView
from tests.gui.examples import snapshot

STALLED = DataView(code=DataCode.NO_ANSWER, args={"host": "texts.org", "seconds": 20}, rows_ready=900)
FLOWING = DataView(
    rows_ready=4096, rate_bytes_s=1.5e6, stored_bytes=8_000_000, shared_bytes=3_000_000, reading="a.jsonl.gz"
)


def test_stall_is_told_while_training_goes_on():
    at = msgspec.structs.replace(snapshot(), data=STALLED)
    said = (
        "texts.org, where the text is, does not answer. It is asked again in 20 s. Training goes on with what is here."
    )
    assert data_text.trouble(at) == said
    enough = msgspec.structs.replace(STALLED, rows_ready=round(at.me.samples_per_s * SOON_S) + 1)
    assert not data_text.trouble(msgspec.structs.replace(at, data=enough))


def test_home_is_silent_where_the_verdict_or_nothing_says_it():
    waiting = verdicts.no_data(STALLED.code, STALLED.args)
    for verdict, view in ((waiting, STALLED), (snapshot().verdict, FLOWING), (snapshot().verdict, None)):
        assert not data_text.trouble(msgspec.structs.replace(snapshot(verdict), data=view))


def test_flow_and_what_is_kept_are_figures():
    assert data_text.flow(FLOWING) == "reading a.jsonl.gz, 1.5 MB a second, 4 096 samples lie ready"
    assert data_text.flow(STALLED).endswith("in 20 s. 900 samples lie ready.")
    assert data_text.kept(FLOWING) == "8.0 MB here for training, 3.0 MB kept for others, 0 B given to them"
    assert data_text.flow(None) == "None is read now."


def test_sources_are_named_with_shares_and_rights():
    found = (
        SourceView(address="https://texts.org/a", share=0.23, licence="CC BY-SA 4.0", credit="Ada\nand Bo"),
        SourceView(address="hf://datasets/ada/poems", share=0.77),
    )
    assert data_text.sources(found) == "23 % from https://texts.org/a; 77 % from hf://datasets/ada/poems"
    assert data_text.rights(found) == "CC BY-SA 4.0, Ada and Bo"
    assert data_text.sources((SourceView(address=""),)) == "the documentation that came with Python"
    assert data_text.rights((SourceView(address=""),)) == "The organiser does not say."
