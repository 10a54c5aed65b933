"""What programs that rest must not load: each takes memory on a computer that is given nothing for it."""

import subprocess
import sys

import pytest

COMPUTES = {"datasets", "numpy", "scipy", "tokenizers", "torch", "transformers"}
FOR_SOME = {"async_upnp_client", "keyring", "PySide6", "zeroconf"}


@pytest.mark.parametrize(("program", "others"), [("start", "core.backbone.serve"), ("backbone", "core.engine")])
def test_program_at_rest_loads_nothing_that_computes(program, others):
    code = f"import sys, core.cli.{program}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"aiohttp", f"core.cli.{program}"} <= loaded
    assert not loaded & (COMPUTES | FOR_SOME | {others})


def test_search_loads_no_library_where_no_router_answers():
    code = """
import asyncio, sys
from core.net import igd
igd.SEARCH_S = 0.01
try:
    asyncio.run(igd.find_igd("127.0.0.1", target=("127.0.0.1", 9)))
except igd.NoMapping as error:
    print(error, *sys.modules, sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said, *loaded = done.stdout.splitlines()
    assert said == "no router of this network speaks UPnP"
    assert not set(loaded) & FOR_SOME
