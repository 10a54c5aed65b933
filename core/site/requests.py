"""`python -m core.site.requests FOLDER [DATABASE]`: who has asked to be let in, and a moderator's answer.

An answer comes on stdin as JSON, nothing asks for none; who still waits goes to stdout as JSON.  It works beside the
page's process, and where none runs.
"""

import asyncio
import sys
from pathlib import Path

import msgspec
from sqlalchemy import Connection

from core.base.problems import Problem
from core.base.site.requests import ModeratorAnswered, WaitingPeople
from core.site.accounts import answer, waiting
from core.site.database import Database, database_url


def main(argv: list[str]) -> int:
    """Take the answer, and say who waits; returns the exit code."""
    folder, address = Path(argv[0]), argv[1] if len(argv) > 1 else ""
    said = sys.stdin.buffer.read()
    given = msgspec.json.decode(said, type=ModeratorAnswered) if said else None
    try:
        told = asyncio.run(_looked(Database(database_url(address, folder)), given))
    except Problem as problem:
        told = WaitingPeople(problem=problem.message, hint=problem.hint)
    sys.stdout.buffer.write(msgspec.json.encode(told))
    return 0


async def _looked(database: Database, given: ModeratorAnswered | None) -> WaitingPeople:
    def look(connection: Connection) -> WaitingPeople:
        counts = given is None or answer(
            connection, given.number, yes=given.yes, reason=given.reason, moderator=given.moderator
        )
        return WaitingPeople(people=waiting(connection), counts=counts)

    try:
        return await database.do(look)
    finally:
        database.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
