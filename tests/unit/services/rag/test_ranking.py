"""How candidates of a full-text index are put in order: the word asked for first, then its other forms and the office words for it."""

import itertools

import pytest

from orchestrator.language.lexicon import load_lexicon
from orchestrator.services.rag.index.port import Hit
from orchestrator.services.rag.ranking import MOST_PREFIXES, MOST_TERMS, Wording, find_office_words, find_prefix, is_related
from orchestrator.services.rag.stems import MOST_ASKED, find_question_terms, find_terms, list_question_words, load_stop_words, stem_word


def _hit(number: int, text: str, title: str = "") -> Hit:
    return Hit(passage_id=number, name="a.md", title=title, text=text)


def _ask(question: str, counts: dict[str, int] | None = None, total: int = 100) -> Wording:
    known = {stem_word(word): count for word, count in (counts or {}).items()}
    return Wording(find_question_terms(question), total, known)


def test_the_word_itself_counts_more_than_a_related_one() -> None:
    """«опоздал» finds «опоздание», but not before a passage that says «опоздал»."""
    wording = _ask("опоздал")
    found = wording.choose_best([_hit(1, "Про опоздания говорят начальнику."), _hit(2, "Кто опоздал, говорит начальнику.")], 5)
    assert [hit.passage_id for hit in found] == [2, 1]
    assert found[0].coverage == pytest.approx(1.0)
    assert 0 < found[1].coverage < 1


def test_forms_of_a_frequent_word_are_not_looked_for() -> None:
    """The documents use the word as the question does: what only begins alike is another word."""
    assert _ask("договорённость").list_prefixes()
    assert _ask("договорённость", {"договорённость": 30}).list_prefixes() == []


def test_a_spoken_word_leads_to_office_words_and_not_back() -> None:
    """«кадровичка» finds «кадры»; who asks about the «кадры» is not led to passages that say «кадровичка»."""
    assert stem_word("кадры") in _ask("где кадровичка").list_searched()
    assert stem_word("кадровичка") not in _ask("где кадры").list_searched()
    assert stem_word("юрлицо") in find_office_words(stem_word("юридическое"))


def test_one_word_said_in_two_ways_counts_once() -> None:
    """A passage that says the same thing thrice in other words does not overtake the one with both words of the question."""
    wording = _ask("выдают ноут")
    both = _hit(1, "Ноутбук выдают в первый день.")
    one = _hit(2, "Ноутбук, компьютер, ноут: всё это техника.")
    assert [hit.passage_id for hit in wording.choose_best([one, both], 5)] == [1, 2]


def test_a_word_of_the_title_counts_more_than_one_of_the_text() -> None:
    """The heading says what a passage is about."""
    wording = _ask("отпуск")
    found = wording.choose_best([_hit(1, "Об этом говорит положение: отпуск."), _hit(2, "Об этом говорит положение.", "Отпуск")], 5)
    assert [hit.passage_id for hit in found] == [2, 1]


def test_words_that_no_document_has_lower_the_coverage() -> None:
    """A question about other things is not answered by the one word that documents happen to have."""
    wording = _ask("квантовая хромодинамика отпуск", {"отпуск": 5})
    (found,) = wording.choose_best([_hit(1, "Отпуск дают летом.")], 5)
    assert found.coverage < 0.5


def test_a_word_in_every_passage_is_looked_for_only_if_there_is_no_other() -> None:
    """It would find all passages and tell nothing."""
    assert _ask("йод отпуск", {"йод": 90, "отпуск": 5}).list_searched()[0] == stem_word("отпуск")
    assert stem_word("йод") not in _ask("йод отпуск", {"йод": 90, "отпуск": 5}).list_searched()
    assert _ask("йод", {"йод": 90}).list_searched() == [stem_word("йод")]


def test_a_long_question_is_bounded() -> None:
    """Its most telling words are taken, few of them stand for others, and the index is not asked about each of a thousand."""
    words = " ".join(f"{letter}{other}рдвыжд" for letter in "абвгдежзик" for other in "лмнопрстуф")
    wording = _ask(words)
    assert len(wording.terms) == MOST_TERMS
    assert len(wording.list_searched()) <= 60
    assert len(wording.list_prefixes()) == MOST_PREFIXES
    assert (len(find_question_terms(words)), len(list_question_words(words))) == (MOST_ASKED, MOST_ASKED)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("опозда", "опоздан", True),
        ("договор", "договорн", True),
        ("дом", "домн", False),
        ("прием", "приемник", True),
        ("счет", "счастлив", False),
    ],
)
def test_stems_are_related_if_they_begin_alike_for_most_of_their_length(one: str, other: str, expected: object) -> None:
    """Short ones never are: they have too little in common to be sure."""
    assert is_related(one, other) is expected
    if expected:
        assert other.startswith(find_prefix(one))


def test_every_word_of_the_list_can_be_found() -> None:
    """A word of several terms, or one that questions are read without, would never be looked for."""
    lexicon = load_lexicon("document_words")
    spoken = lexicon.read_lists("spoken")
    words = [*itertools.chain(*lexicon.read_groups("groups")), *spoken, *itertools.chain(*spoken.values())]
    assert len(words) > 1_000
    assert [word for word in words if find_terms(word) != [stem_word(word)] or word in load_stop_words()] == []


def test_numbers_have_no_relatives() -> None:
    """2024 is not 2025."""
    assert find_prefix("20241") == ""
