"""A list that goes on keeps one numbering, and only its own pages are joined."""

from dataclasses import replace

import pytest

from state.model.shown_lists import KEEP_IN_ANSWER, ShownList, ShownRow


def a_list(first: int, count: int, **more: object) -> ShownList:
    """A list of deals with the numbers from `first` on."""
    rows = tuple(ShownRow(f"deal:{number}", f"Сделка {number}") for number in range(first, first + count))
    made = ShownList(place="1.1", total=100, rows=rows, first=first, method="crm.deal.list", params={"filter": {"CLOSED": "N"}}, by="tg:1")
    return replace(made, **more)  # type: ignore[arg-type]


def test_a_further_page_is_joined_with_the_pages_before_it() -> None:
    """Row 3 and row 12 both have a meaning then, also after the state was stored."""
    whole = a_list(11, 5).join(a_list(1, 10))
    assert (whole.first, [row.record for row in whole.rows]) == (1, [f"deal:{number}" for number in range(1, 16)])
    assert ShownList.from_stored(whole.to_stored()) == whole


@pytest.mark.parametrize(
    "before", [None, a_list(1, 9), a_list(1, 10, by="tg:2"), a_list(1, 10, params={}), a_list(1, 10, method="crm.lead.list")]
)
def test_pages_of_another_list_are_not_joined(before: ShownList | None) -> None:
    """Another call, another person, or a gap between the numbers."""
    page = a_list(11, 5)
    assert page.join(before) == page


def test_of_many_pages_the_last_rows_are_kept_with_their_numbers() -> None:
    """Numbers do not move when the oldest rows go."""
    whole = a_list(51, 30).join(a_list(1, 50))
    assert (len(whole.rows), whole.first, whole.rows[0].record) == (KEEP_IN_ANSWER, 21, "deal:21")


def test_a_list_of_earlier_versions_is_read_and_written_as_it_was() -> None:
    """What was stored without the new fields has none of them afterwards."""
    stored = {"place": "1.1", "total": 1, "rows": [["deal:481", "Ромашка"]]}
    assert ShownList.from_stored(stored).to_stored() == stored
