"""The number of files that a process may open."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource
from core.system.usage import raise_file_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (64, {hard}))
raise_file_limit()
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.parametrize(("hard", "expected"), [(128, "128"), (1024, "1024")])
def test_limit_rises_as_far_as_the_system_allows(hard, expected):
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(hard=hard)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected
