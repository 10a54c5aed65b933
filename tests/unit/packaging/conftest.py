"""The modules of packaging/, which are no package: they run before anything is installed."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

PACKAGING = Path(__file__).parents[3] / "packaging"


@pytest.fixture
def parts(monkeypatch):
    """The modules of packaging/, which import each other by their bare names."""
    monkeypatch.syspath_prepend(str(PACKAGING))
    names = ("steps", "pip_progress", "system_libraries", "lock_files", "environment", "demo_options", "bootstrap")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    loaded = SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    yield loaded
    for name in names:
        sys.modules.pop(name, None)
