"""The list of commands, and what one of them loads."""

import argparse
import importlib
import subprocess
import sys

import pytest

from core.cli.parsing.commands import COMMANDS, CommandList


def test_each_command_is_in_the_list_of_its_module():
    for name, entry in COMMANDS.items():
        module = importlib.import_module(f"core.cli.{entry.module}")
        added = argparse.ArgumentParser().add_subparsers()
        module.add(CommandList(added))
        assert name in added.choices
        assert set(added.choices) <= set(COMMANDS)


@pytest.mark.parametrize("words", ["--help", "status --help"])
def test_what_a_quick_command_does_not_need_is_not_loaded(words):
    code = f"""
import sys
from core.cli.program import run
try:
    run({words.split()!r})
finally:
    print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "core.cli.program" in loaded
    assert not loaded & {"aiohttp", "asyncio", "cryptography", "numpy", "psutil", "torch", "websockets"}
