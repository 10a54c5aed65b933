"""What stands on the pages, whatever people call themselves."""

import html
import itertools
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import msgspec
import pytest

import resources
from core.api.site_view import SiteEnd, SiteNotice, SitePerson, SiteText, SiteView
from core.site.history import PersonDay
from core.site.pages import ROWS, PageMatter, Pages
from core.site.teams import Choices, Team
from tests.unit.site.views import ADA, AT, CHOICES, EVE, FILE, LINK, ZOE, view

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "https://evil.example/",
    "]]></content><script>",
    "&lt;script&gt;",
    "\u202egnp.exe",
    "W" * 80,
)
PERSON = f"/board/{ADA.hex()}"
PATHS = ("/", "/board", PERSON, "/teams", "/teams/3", "/model", "/try", "/news", "/about")
CURRENT = {PERSON: 0, "/teams/3": 0, "/try": 0}
"""Pages to which no link of the menu leads: number of links that are marked."""
VOID = {"meta", "link", "img", "br", "input"}


class Outline(HTMLParser):
    """Elements, attributes and text of a page; ends that fit nothing are a failure."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


DAYS = (PersonDay("", 200), PersonDay("2026-11-24", 600, 50), PersonDay("2026-11-26", 100))


def page(path: str, shown: SiteView, number: int = 1, choices: Choices = CHOICES) -> str:
    made = Pages().made(
        path, PageMatter(shown, {FILE: "ab" * 32}, {200: 3}, 9, can_try=True, days=DAYS, choices=choices), page=number
    )
    assert made is not None
    return made.body.decode()


def hostile(words: str) -> SiteView:
    return view(
        name=words,
        summary=words,
        organiser=words,
        moderators=(words, words),
        people=(SitePerson(1, words, 1000, 1, 1, ADA, (1000,)),),
        notices=(SiteNotice(AT, AT + 1, words),),
        end=SiteEnd(AT, paused=True, words=words, successor=words),
        texts=(SiteText(words, words, words),),
    )


@pytest.mark.parametrize("words", HOSTILE)
@pytest.mark.parametrize("path", PATHS)
def test_words_of_strangers_are_letters_and_nothing_else(path, words):
    plain, made = (
        Outline(page(path, hostile(each), choices=Choices({3: Team(3, each, ADA, 1e9)}, {ADA: 3}, {})))
        for each in ("Plain", words)
    )
    assert [tag for tag, _ in made.found] == [tag for tag, _ in plain.found]
    assert [sorted(attributes) for _, attributes in made.found] == [sorted(attributes) for _, attributes in plain.found]
    assert [one.get("href") for one in made.all("a")] == [one.get("href") for one in plain.all("a")]
    assert words in "".join(made.texts)


@pytest.mark.parametrize("words", HOSTILE)
def test_feed_stays_a_feed(words):
    feed = ET.fromstring(page("/news.atom", hostile(words)))
    end, notice = (entry.findtext("{*}content") or "" for entry in feed.findall("{*}entry"))
    assert notice == words
    assert words in end


@pytest.mark.parametrize("path", PATHS)
def test_page_loads_nothing_from_elsewhere_and_runs_nothing(path):
    outline = Outline(page(path, view()))
    tags = {tag for tag, _ in outline.found}
    assert not tags & {"script", "iframe", "object", "embed", "style", "base"}
    assert [form["action"] for form in outline.all("form")] == (["/try"] if path == "/try" else [])
    for _, attributes in outline.found:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        for name in ("href", "src"):
            address = attributes.get(name)
            assert address is None or (address.startswith(("/", "#")) and not address.startswith("//"))


@pytest.mark.parametrize("path", PATHS)
def test_page_can_be_read_aloud(path):
    text = page(path, view())
    outline = Outline(text)
    assert '<html lang="en">' in text
    assert [len(outline.all(tag)) for tag in ("header", "main", "footer", "h1", "title")] == [1] * 5
    levels = [int(tag[1]) for tag, _ in outline.found if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert all("alt" in image for image in outline.all("img"))
    assert all(nav["aria-label"] for nav in outline.all("nav"))
    assert len([one for one in outline.all("a") if one.get("aria-current") == "page"]) == CURRENT.get(path, 1)
    ids = [attributes["id"] for _, attributes in outline.found if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_front_page_says_what_goes_on():
    text = page("/", view())
    for said in ("Three languages", "Ada Lovelace", "computers here", ">11<", ">73.4<", "Back on Monday", LINK):
        assert said in text
    assert "has founded it. <bdi>Ada</bdi>, <bdi>Ben</bdi> and <bdi>Cleo</bdi> moderate it" in " ".join(text.split())
    assert "Held-out loss 6 at step 0, 2.5 at step 240" in text
    assert "1\u202f000 samples from" not in text
    assert "1 000 samples from 2026-11-20 to 2026-11-26" in text


def test_front_page_of_new_collaboration_says_nothing_is_there():
    text = page("/", view(curve=(), people=(), days=(), computers=0, samples=0, notices=(), epoch=0))
    for said in ("No loss is known yet.", "No samples have been counted yet.", "Nobody's samples", "Nobody's computer"):
        assert said in text


def test_closed_collaboration_shows_no_link():
    text = page("/", view(open_to_newcomers=False))
    assert "let nobody new in at present" in text
    assert LINK not in text


@pytest.mark.parametrize("path", ["/", "/news", "/news.atom"])
def test_page_says_that_all_rest_and_where_it_goes_on(path):
    plain = page(path, view())
    assert "paused it" not in plain
    assert "ended it" not in plain
    paused = page(path, view(end=SiteEnd(AT, paused=True, words="Until Monday.", successor="")))
    assert "nobody's computer trains until they go on" in html.unescape(paused)
    assert "Until Monday." in paused
    end = SiteEnd(AT, paused=False, words="Well done.", successor=LINK.replace("56", "77"))
    ended = page(path, view(open_to_newcomers=False, end=end))
    assert "ended it. Thank you" in ended
    assert LINK.replace("56", "77") in ended
    assert LINK not in ended


def test_board_names_nobody_who_is_shut_out():
    text = page("/board", view())
    assert "shut out by the moderators" in text
    assert "90.0\u202f%" in text
    assert "0.1\u202f%" in text


def test_person_has_a_page_with_what_was_given_by_day():
    text = page(PERSON, view())
    for said in (
        ">Ada<",
        ">900<",
        ">90.0\u202f%<",
        "<dt>computers</dt><dd>2</dd>",
        "averaged 10 numbers",
        "50 further samples are undone",
        "700 samples from 2026-11-20 to 2026-11-26; most on 2026-11-24: 600.",
    ):
        assert said in text
    assert "<dt>computer</dt><dd>1</dd>" in page(f"/board/{ZOE.hex()}", view())


def test_only_people_with_counted_samples_have_a_page():
    for account in (EVE.hex(), "00" * 16, "zz" * 16, ADA.hex()[:-1], "", "../about", f"{ADA.hex()}/", "٣" * 32):
        for several in ("/board", "/api/v1/board"):
            assert Pages().made(f"{several}/{account}", PageMatter(view(), {}, {})) is None, account


def test_board_leads_to_people_who_are_not_shut_out():
    links = [one["href"] for one in Outline(page("/board", view())).all("a")]
    assert PERSON in links
    assert f"/board/{EVE.hex()}" not in links
    assert EVE.hex() not in page("/api/v1/board", view())


def test_teams_have_counted_members_only():
    text = page("/teams", view())
    assert "Bücherwürmer" in text
    assert "Nobody yet" not in text
    assert '<td class="number">1</td><td class="number">900</td>' in text
    assert Pages().made("/teams/4", PageMatter(view(), {}, {}, choices=CHOICES)) is None
    team = page("/teams/3", view())
    assert "<bdi>Ada</bdi> looks after it" in team
    assert EVE.hex() not in team
    assert "There is no team yet" in page("/teams", view(people=()))
    assert 'In the team <a href="/teams/3">' in page(PERSON, view())


def test_board_has_pages():
    people = tuple(SitePerson(n + 1, f"Person {n + 1}", 10_000 - n, 1, 0) for n in range(10_000))
    many = view(people=people, samples=10**8)
    first, last = page("/board", many), page("/board", many, 10_000 // ROWS)
    assert (first.count("<tr>"), last.count("<tr>")) == (ROWS + 1, ROWS + 1)
    assert "Person 1<" in first
    assert "Page 1 of 100" in first
    assert "Person 10000<" in last
    assert "Page 100 of 100" in last


def test_model_page_names_each_copy():
    text = page("/model", view())
    for said in ("Step 240", "26 Nov 2026, 06:59 UTC", "2.5", "1 MB", "ab" * 32, 'href="/model/4"'):
        assert said in text
    assert "keeps no copy" in page("/model", view(copies=()))


def test_about_page_gives_energy_as_a_range():
    text = page("/about", view())
    assert "100 hours" in text
    assert "5.0 to 30<" in text
    assert "0.5 to 12<" in text
    assert "3 GB among the computers" in text
    assert "too little to say" in page("/about", view(days=()))
    assert "One person decides alone here" in page("/about", view(moderators=("the founder",), threshold=1))
    assert "names no licence" in text


def test_unknown_address_has_no_page():
    for path in ("", "/nope", "/board/", "//", "/site.css/", "/../etc/passwd", "/templates/base.html", "/base.html"):
        assert Pages().made(path, PageMatter(view(), {}, {})) is None


def test_template_that_misspells_a_name_fails():
    class Torn(msgspec.Struct):
        name: str = "no more than that"

    with pytest.raises(Exception, match="has no attribute"):
        Pages().made("/", PageMatter(Torn(), {}, {}))  # type: ignore[arg-type]


def colours(*, dark: bool) -> dict[str, tuple[float, ...]]:
    css = resources.file("site", "site.css").read_text()
    block = css.split("prefers-color-scheme: dark")[1] if dark else css
    named = re.findall(r"--([a-z-]+): #([0-9a-f]{6});", block.split("}")[0])
    return {name: tuple(int(hexed[at : at + 2], 16) / 255 for at in (0, 2, 4)) for name, hexed in named}


def luminance(colour: tuple[float, ...]) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
def test_colours_have_enough_contrast(dark):
    found = colours(dark=dark)
    assert len(found) >= 8
    pairs = [(ink, ground) for ink in ("text", "muted", "accent") for ground in ("window", "card")]
    for ink, ground in [*pairs, ("text", "notice"), ("accent", "notice"), ("on-accent", "accent")]:
        light, shade = sorted((luminance(found[ink]), luminance(found[ground])), reverse=True)
        assert (light + 0.05) / (shade + 0.05) >= 4.5, (ink, ground)
