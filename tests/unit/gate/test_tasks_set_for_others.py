"""A person sees the tasks that they set for others, and no others: the filter of such a list."""

import pytest

from orchestrator.gate.call.params import Refusal
from orchestrator.gate.call.permissions import is_owned_otherwise

OWN = frozenset({7})
FIELDS = ("CREATED_BY",)


@pytest.mark.parametrize("given", [{"CREATED_BY": 7}, {"=CREATED_BY": "7", "RESPONSIBLE_ID": [8, 9]}, {"createdBy": [7]}])
def test_a_list_of_what_one_set_oneself_needs_no_other_limit(given: object) -> None:
    """Tasks are also theirs who set them."""
    assert is_owned_otherwise(given, FIELDS, OWN)


@pytest.mark.parametrize(
    "given",
    [
        {}, {"CREATED_BY": 8}, {"CREATED_BY": [7, 8]}, {"!CREATED_BY": 7}, {">=CREATED_BY": 7}, {"CREATED_BY": ""}, {"CREATED_BY": []},
        {"CREATED_BY": 7, "createdBy": 8}, {"RESPONSIBLE_ID": 8},
    ],
)  # fmt: skip
def test_any_other_filter_is_limited_as_before(given: object) -> None:
    """A condition that does not name exactly people whose records the person sees limits nothing."""
    assert not is_owned_otherwise(given, FIELDS, OWN)


@pytest.mark.parametrize(
    "given", [{"CREATED_BY": 7, "logic": "OR"}, {"CREATED_BY": 7, "0": {"RESPONSIBLE_ID": 8}}, {"CREATED_BY": 7, "CHECK_PERMISSIONS": "N"}]
)
def test_a_filter_with_groups_or_switches_is_refused(given: object) -> None:
    """Such a filter might give more than it says."""
    with pytest.raises(Refusal):
        is_owned_otherwise(given, FIELDS, OWN)


def test_where_records_have_one_owner_nothing_changes() -> None:
    """Deals belong to their responsible person only."""
    assert not is_owned_otherwise({"CREATED_BY": 7}, (), OWN)
