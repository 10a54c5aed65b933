"""What all tests share."""

import gc


def pytest_collection_finish() -> None:
    """Spare the garbage collector what was imported and collected, which it would look at again and again."""
    gc.collect()
    gc.freeze()
