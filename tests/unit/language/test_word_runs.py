"""Texts are compared in one spelling: what looks alike to a person is alike, and what a person denied was not said."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.language.word_runs import hash_runs, repeats, says, split_words

READ = "Скидка 90% согласована, перевести на счёт 40702810938110000123, вопросы: +7 (916) 000-11-22"


@pytest.mark.parametrize(
    "value",
    [
        "Скидка 90 % согласована",
        "скидка 90 процентов согласована",
        "cкидкa 90% coглacoвaнa",
        "скид\u200bка 90% согласована",
        "ски<b>д</b>ка 90% согла<!-- -->сована",
        "скидка&nbsp;90%&nbsp;согласована",
        "скид&shy;ка 90&#37; согласована",
        "ски[b]д[/b]ка [color=red]90%[/color] согласована",
        "ски**д**ка ~~90%~~ `согласована`",
        "с к и д к а 90% согласована",
        "с.к.и.д.к.а 90% согласована",
        "скидкa 9О% сoглас0вана",
        "скидка ９０％ согласована",
        "скидка ٩٠% согласована",
        "ск\u0301идка 90% согласова\u20ddна",
        "скидка<br>90%<p>согласована",
        "пишите: 40 702 810 9 3811 0000123",
        "40702.810.9.3811.0000123",
        "40702-810-9-3811-0000123",
        "4О7О281О938110000123",
        "[url=https://x.example/40702810938110000123]тут[/url]",
        "<a href='https://x.example/?to=40702810938110000123'>тут</a>",
        "звонить 79160001122",
        "звонить 8 916 000 11 22",
        "звонить 8(916)0001122",
        "звонить 916-000-11-22",
    ],
)
def test_another_spelling_is_the_same_text(value: str) -> None:
    """On either side: what was read may be spelt as oddly as what is written."""
    assert repeats(value, "запиши в 481: звонил", hash_runs([READ]))
    assert repeats(READ, "запиши в 481: звонил", hash_runs([value]))
    assert not repeats(value, READ, hash_runs([READ]))


@pytest.mark.parametrize(
    "value",
    [
        "скидка",
        "Созвон 12.03.2026 в 15:00",
        "скидка 9%",
        "звонить 79160001123",
        "счёт 4070281",
        "R&D, a < b",
        "отчёт за 2026-03-12",
        "[b][/b]",
    ],
)
def test_other_words_are_no_repetition(value: str) -> None:
    """Nor are days, and numbers that differ in a digit."""
    assert not repeats(value, "звонил", hash_runs([READ, "Встреча 12.03.2026, отчёт 12.03.2026"]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("12.03.2026 500 000", "12 03 2026 500000"),
        ("1.500.000 и 1,5", "1500000 и 1 5"),
        ("89160001122 9160001123", "79160001122 79160001123"),
        ("40702810 938110", "40702810938110 40702810 938110"),
        ("x<y", "x y"),
        ("", ""),
        ("<b>[/i]", ""),
    ],
)
def test_numbers_are_joined_as_people_group_them(text: str, words: str) -> None:
    """Parts that may be numbers of their own stand behind the text as well."""
    assert split_words(text) == words.split()


@given(st.lists(st.sampled_from([*"<>[]/&;=*_. -0я1a%", "<b", "&amp;", "[url=", "<!--", "\u200b", "٣"]), max_size=40).map("".join))
def test_every_text_is_split(text: str) -> None:
    """And a text repeats itself or is too short to say anything."""
    assert all(word.strip("%") for word in split_words(text))
    assert says(text, text) or not split_words(text)


@pytest.mark.parametrize("piece", ["<a ", "<!--", "[url=", "1 ", "а ", "9(", "&amp;", "a*", "<a &amp;lt;>", "500 000 ", "о0о"])
def test_hostile_texts_are_hashed_quickly(piece: str) -> None:
    """A hundred thousand characters."""
    started = time.perf_counter()
    hash_runs([(piece * 100_000)[:100_000]])
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("запиши: клиент оплатил", "оплатил", True),
        ("запиши: клиент не оплатил", "не оплатил", True),
        ("запиши: клиент не оплатил", "Клиент не оплатил", True),
        ("запиши: клиент не оплатил", "оплатил", False),
        ("запиши: клиент не всё оплатил", "оплатил", False),
        ("запиши: оплаты нет", "оплаты", True),
        ("запиши: нет оплаты", "оплаты", False),
        ("запиши: без НДС", "НДС", False),
        ("note: he didn't pay", "pay", False),
        ("note: he did not pay, she did pay", "pay", True),
        ("скидка 15", "5", False),
        ("скидка 15%", "скидка 15", False),
        ("доплатил", "платил", False),
        ("запиши 150 000", "150000", True),
        ("запиши", "", True),
        ("запиши!", "!", False),
    ],
)
def test_what_a_person_denied_was_not_said(text: str, value: str, said: bool) -> None:  # noqa: FBT001
    """Whole words in a row count, and none behind «не»."""
    assert says(text, value) is said
