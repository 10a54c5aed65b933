"""What is said to a person who has joined a collaboration."""

from core.cli.volunteer.joining import how_to_start


def test_text_of_this_computer_is_named_in_a_terminal_only():
    assert how_to_start("") == "Start Potluck with: potluck, or without a screen: potluck engine"
    said = how_to_start("/home/ada/\x1b[31mpoems")
    assert said.endswith("potluck engine --text FOLDER")
    assert "poems" in said
    assert "\x1b" not in said
