"""Lowers and removes exceptions that are no longer needed.  It adds none and raises none."""

from tests.architecture.limits import EXCEPTIONS, read_exceptions, shrunk, write_exceptions
from tests.architecture.measure import read_sources

if __name__ == "__main__":
    before = read_exceptions(EXCEPTIONS.read_text(encoding="utf-8"))
    EXCEPTIONS.write_text(write_exceptions(shrunk(read_sources(), before)), encoding="utf-8")
