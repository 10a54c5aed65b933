"""What a worker is told of a source's text that is not read."""

from core.api.data_state import DataCode
from core.reading.frames import FilesLeftOut, ReadFrame
from core.reading.news import SourceNews
from core.text.sources.source import LeftOut


def test_file_is_told_once_however_often_it_is_read() -> None:
    said: list[ReadFrame] = []
    news = SourceNews(0, said.append)
    for row in (3, 900, 3):
        news.left_out(LeftOut("a.jsonl", DataCode.RECORDS, 1, f"row {row}, not valid JSON"))
    news.left_out(LeftOut("b.jsonl.gz", DataCode.DAMAGED, first="the rest"))
    assert [(one.name, one.files) for one in said if isinstance(one, FilesLeftOut)] == [
        ("a.jsonl: 1 record, the first: row 3, not valid JSON", 1),
        ("the rest of b.jsonl.gz", 2),
    ]
