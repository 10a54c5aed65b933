"""What is said to a person who has joined a collaboration."""

import subprocess
import sys

from core.cli.volunteer.joined import how_to_start


def test_text_of_this_computer_is_named_in_a_terminal_only():
    assert how_to_start("") == "Start Potluck with: potluck, or without a screen: potluck engine"
    said = how_to_start("/home/ada/\x1b[31mpoems")
    assert said.endswith("potluck engine --text FOLDER")
    assert "poems" in said
    assert "\x1b" not in said


def test_list_of_collaborations_loads_no_network():
    """So it takes a quarter of a second, and not all of one."""
    code = "import sys, core.cli.volunteer.joined; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "core.cli.volunteer.joined" in loaded
    assert not {"aiohttp", "numpy", "websockets", "core.swarm.participant"} & set(loaded)
