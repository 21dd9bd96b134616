""" "Did you mean" names what was probably meant and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.directory.ranking import find_similar_codes

KNOWN = {
    "TITLE": "Название",
    "OPPORTUNITY": "Сумма",
    "ASSIGNED_BY_ID": "Ответственный",
    "CREATED_BY_ID": "Кем создано",
    "COMMENTS": "Комментарий",
    "UF_CRM_1747309879": "Номер договора",
    "UF_CRM_1747309880": "",
}


@pytest.mark.parametrize(
    ("written", "first"),
    [
        ("opportunity", "OPPORTUNITY"),
        ("OPORTUNITY", "OPPORTUNITY"),
        ("assignedById", "ASSIGNED_BY_ID"),
        ("ASSIGNED_BY", "ASSIGNED_BY_ID"),
        ("COMMENT", "COMMENTS"),
        ("Номер договора", "UF_CRM_1747309879"),
        ("номер договра", "UF_CRM_1747309879"),
        ("СУММА", "OPPORTUNITY"),
        ("ufCrm_1747309879", "UF_CRM_1747309879"),
    ],
)
def test_the_nearest_name_comes_first(written: str, first: str) -> None:
    """By code in either spelling, with a slip of the pen, or by title."""
    assert find_similar_codes(written, KNOWN)[0] == first


@pytest.mark.parametrize("written", ["", "X", "ЦВЕТ", "price_of_everything"])
def test_what_is_near_nothing_gets_no_suggestion(written: str) -> None:
    """A wrong suggestion is worse than none."""
    assert find_similar_codes(written, KNOWN) == ()


@given(st.text(max_size=200))
def test_any_text_gets_at_most_three_known_names(written: str) -> None:
    """Nothing is invented and nothing fails."""
    found = find_similar_codes(written, KNOWN)
    assert len(found) <= 3
    assert set(found) <= set(KNOWN)
