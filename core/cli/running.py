"""What the programs of engine and backbone have in common: neither loads the other's parts."""

import logging
import sys

from aiohttp.http_exceptions import HttpProcessingError

MIB = 1024 * 1024
EVERYWHERE = "0.0.0.0"  # noqa: S104 - a peer is there to be reached


def log_to_stderr() -> None:
    """From now on this process logs to its standard error."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("aiohttp.server").addFilter(_by_us)
    logging.getLogger("quic").setLevel(logging.WARNING)
    logging.getLogger("zeroconf").setLevel(logging.ERROR)


def _by_us(record: logging.LogRecord) -> bool:
    """Whether a log record comes from this program; no stranger's garbage shall fill the disk."""
    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError)
