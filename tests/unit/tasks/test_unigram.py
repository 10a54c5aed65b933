import pytest
from tokenizers import Tokenizer

from core.base.problems import BadInput
from core.tasks.tokenizers.unigram import FIRST_WORD_ID, SPECIAL, pieces, read_unigram, train_unigram
from tests.small_task import text_folder


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = text_folder(tmp_path_factory.mktemp("text"), characters=40_000)
    texts = [path.read_text() for path in sorted(folder.iterdir())]
    return train_unigram(iter([*texts, "0123456789 .,;:!?()'-\"" * 20]), vocab_size=120)


def test_special_pieces_come_first(tokenizer: Tokenizer) -> None:
    assert [tokenizer.token_to_id(piece) for piece in SPECIAL] == list(range(FIRST_WORD_ID))
    assert tokenizer.get_vocab_size() <= 120


def test_round_trip_of_normalised_text(tokenizer: Tokenizer) -> None:
    text = "the swarm shares work, and (12) bread!"
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_text_is_normalised(tokenizer: Tokenizer) -> None:
    """NFKC opens the ligature, NMT makes all white space alike, spaces are collapsed, letters lowered."""
    plain = tokenizer.encode("the soup fire").ids
    assert tokenizer.encode("The\u00a0  SOUP\t\n\ufb01re").ids == plain


def test_punctuation_and_digits_stand_alone(tokenizer: Tokenizer) -> None:
    for text in ("soup,fire", "2024", "a.b", "(the)"):
        for piece in tokenizer.encode(text, add_special_tokens=False).tokens:
            inner = piece.removeprefix("\u2581")
            assert len(inner) <= 1 or inner.isalpha(), (text, piece)


def test_the_template_of_pairs(tokenizer: Tokenizer) -> None:
    pair = tokenizer.encode("the soup", "the fire")
    a, b = pieces(tokenizer, ["the soup", "the fire"])
    assert pair.ids == [2, *a, 3, *b, 3]
    assert pair.type_ids == [0] * (len(a) + 2) + [1] * (len(b) + 1)


def test_a_stored_tokenizer_cuts_like_the_original(tokenizer: Tokenizer) -> None:
    again = read_unigram(tokenizer.to_str().encode())
    text = ["Soup and fire, 42 times; the swarm."]
    assert pieces(again, text) == pieces(tokenizer, text)


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff\xfe", b"[1]"])
def test_what_is_no_tokenizer_is_refused(data: bytes) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_unigram(data)


def test_a_tokenizer_of_another_kind_is_refused(tokenizer: Tokenizer) -> None:
    other = tokenizer.to_str().replace("[MASK]", "[MUSK]")
    with pytest.raises(BadInput, match="another kind"):
        read_unigram(other.encode())


def test_training_twice_gives_the_same_tokenizer() -> None:
    """With letters so rare that the library gives them no score of their own."""
    words = [f"{chr(0x3B1 + number % 24)}{chr(0x4E00 + number)} ab{number % 7} abc" for number in range(60)]
    text = [" ".join(words[:45] * 3), " ".join(words[45:])]
    first, *others = (train_unigram(iter(text), vocab_size=200).to_str() for _ in range(4))
    assert others == 3 * [first]
