from core.backbone.remembered import CONTACTS_MAX, RememberedContacts
from core.base.ids import Contact


def contacts(count):
    return [Contact(bytes([number]) * 32, f"198.51.100.{number}", 4000 + number) for number in range(1, count + 1)]


def test_what_was_saved_is_there_next_time(tmp_path):
    path = tmp_path / "peers.json"
    first = RememberedContacts(path)
    assert first.contacts == []
    assert first.save(contacts(3))
    assert RememberedContacts(path).contacts == contacts(3)


def test_none_are_no_news_and_there_is_a_limit(tmp_path):
    path = tmp_path / "peers.json"
    RememberedContacts(path).save(contacts(100))
    again = RememberedContacts(path)
    again.save([])
    assert again.contacts == contacts(CONTACTS_MAX)
    assert RememberedContacts(path).contacts == contacts(CONTACTS_MAX)


def test_a_damaged_file_is_set_aside(tmp_path):
    path = tmp_path / "peers.json"
    path.write_bytes(
        b'[["',
    )
    assert RememberedContacts(path).contacts == []
    assert not path.exists()
    assert any(tmp_path.iterdir())


def test_a_disk_that_refuses_is_told(tmp_path):
    remembered = RememberedContacts(tmp_path / "nowhere" / "deeper" / "peers.json")
    (tmp_path / "nowhere").write_text("a file")
    assert not remembered.save(contacts(1))
    assert remembered.contacts == []
