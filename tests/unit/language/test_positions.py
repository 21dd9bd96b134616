"""Which rows of a numbered list a message names: ordinals, numbers, ends and pronouns, in Russian and English, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.language.positions import names_row


@pytest.mark.parametrize(
    ("text", "rows", "named"),
    [
        ("третью переведи в договор", 5, [3]),
        ("Третью!", 5, [3]),
        ("вторую и пятую закрой", 6, [2, 5]),
        ("со второй по пятую", 8, [2, 3, 4, 5]),
        ("первые две", 8, [1, 2]),
        ("две первые", 8, [1, 2]),
        ("последнюю", 4, [4]),
        ("последние три", 5, [3, 4, 5]),
        ("предпоследнюю", 5, [4]),
        ("двадцать пятую", 30, [25]),
        ("№3 и № 4", 5, [3, 4]),
        ("3-ю и 5-ю", 6, [3, 5]),
        ("закрой 3, 4", 5, [3, 4]),
        ("2-4", 5, [2, 3, 4]),
        ("все", 3, [1, 2, 3]),
        ("закрой их", 3, [1, 2, 3]),
        ("обе", 2, [1, 2]),
        ("обе", 3, []),
        ("нет, другую", 2, [1, 2]),
        ("её", 1, [1]),
        ("её", 3, []),
        ("the first two", 5, [1, 2]),
        ("the last one", 5, [5]),
        ("1st and 3rd", 4, [1, 3]),
        ("close all of them", 2, [1, 2]),
        ("подними до 150 000", 5, []),
        ("подними до 3 млн", 5, []),
        ("подними до 2,5", 5, []),
        ("через 3 часа в 11:30", 12, []),
        ("2 декабря", 5, []),
        ("перезвони по телефону +7 901", 12, []),
        ("подними сумму", 3, []),
        ("", 3, []),
        ("тр\u200bетью", 3, [3]),
    ],
)
def test_rows_that_a_message_names(text: str, rows: int, named: list[int]) -> None:
    """Sums, hours and days are no rows."""
    assert [number for number in range(1, rows + 1) if names_row(text, number, rows=rows, is_known=False)] == named


def test_it_is_a_record_that_was_spoken_of() -> None:
    """«Её» of several rows only if the person spoke of that record before."""
    assert names_row("её закрой", 2, rows=5, is_known=True)
    assert not names_row("закрой", 2, rows=5, is_known=True)


@given(st.text(max_size=60), st.integers(1, 30), st.integers(1, 30))
def test_any_text_is_answered(text: str, position: int, rows: int) -> None:
    """Without an error, and a text without words or numbers names nothing."""
    named = names_row(text, position, rows=rows, is_known=True)
    assert not named or any(char.isalnum() for char in text)


def test_the_first_two_are_named_in_every_case() -> None:
    """«Первыми двумя» names the rows 1 and 2, and no third."""
    assert [names_row("разобраться с первыми двумя", number, rows=4, is_known=False) for number in (1, 2, 3)] == [True, True, False]
