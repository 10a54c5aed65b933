"""Memory that runs out where an optimiser begins to remember costs one expert, and not the worker."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import resource
import sys
from pathlib import Path

import numpy as np
import psutil
import torch

from core.base.mixture import ExpertNumbers
from core.experts.queue import CallKind
from core.workers.expert_frames import BatchCall, ExpertBatch, TakeExpert
from tests.unit.training.experts import PLACE, Hosted

torch.set_num_threads(1)
numbers = ExpertNumbers(live=16, width=512, factor=8, codec="raw", step_rows=4, step_calls=1000)
hosted = Hosted(Path(sys.argv[1]), numbers)
hosted.tell(TakeExpert(layer=0, place=(0, 0)))


def compute(kind, size):
    call = BatchCall(account=b"a", counted=True, rows=4, seen=0, size=size)
    hosted.slots.slot(1)[:size] = np.ones(size // 4, np.float32).tobytes()
    hosted.tell(ExpertBatch(number=1, slot=1, layer=0, place=PLACE, kind=kind, calls=(call,)))


compute(CallKind.FORWARD, 4 * 4 * 512)
used = psutil.Process().memory_info().vms
resource.setrlimit(resource.RLIMIT_AS, (used + numbers.expert_bytes * 5 // 2, resource.RLIM_INFINITY))
hosted.said.clear()
compute(CallKind.BACKWARD, 2 * 4 * 4 * 512)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
compute(CallKind.FORWARD, 4 * 4 * 512)
print([type(one).__name__ for one in hosted.said], hosted.bank.places_max, list(hosted.bank.experts))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems limit no address space")
def test_worker_goes_on_where_the_optimiser_finds_no_memory(tmp_path: Path) -> None:
    env = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000"}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    said = "['ExpertBatchDone', 'ExpertLacking', 'ExpertsReady', 'ExpertBatchDone'] 1 [(0, (0, 0))]"
    assert done.stdout.strip() == said
