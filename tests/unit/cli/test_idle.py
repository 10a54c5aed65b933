"""What programs that rest must not load: each takes memory on a computer that is given nothing for it."""

import subprocess
import sys

import pytest

COMPUTES = {"datasets", "numpy", "scipy", "tokenizers", "torch", "transformers"}
FOR_SOME = {"async_upnp_client", "keyring", "PySide6", "zeroconf"}


@pytest.mark.parametrize(
    ("program", "others"), [("volunteer.start", "core.backbone.serve"), ("organiser.backbone", "core.engine")]
)
def test_program_at_rest_loads_nothing_that_computes(program, others):
    code = f"import sys, core.cli.{program}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"aiohttp", f"core.cli.{program}"} <= loaded
    assert not loaded & (COMPUTES | FOR_SOME | {others})
