"""Spellings of a field and equality of values: doubt counts as a change."""

from decimal import Decimal
from typing import Any

import pytest

from orchestrator.gate.call import fields


@pytest.mark.parametrize(
    ("one", "other", "entity"),
    [
        ("ASSIGNED_BY_ID", "assignedById", "deal"),
        ("UF_CRM_3_DIGIT", "ufCrm3Digit", "item:177"),
        ("UF_CRM_1747309879", "ufCrm_1747309879", "deal"),
        ("DATE_CREATE", "createdTime", "deal"),
        ("CREATED_BY_ID", "createdBy", "deal"),
        ("MODIFY_BY_ID", "updatedBy", "contact"),
        ("STATUS_ID", "stageId", "lead"),
        ("COMPANY_TYPE", "typeId", "company"),
        ("CREATED_BY", "createdBy", "task"),
    ],
)
def test_two_spellings_of_one_field(one: str, other: str, entity: str) -> None:
    """The classic and the universal name mean the same."""
    assert fields.to_field_key(one, entity) == fields.to_field_key(other, entity)


@pytest.mark.parametrize(
    ("new", "old", "kind", "same"),
    [
        ("x", "x", "text", True),
        (" x ", "x", "text", True),
        ("x", "X", "text", False),
        (None, "", "text", True),
        ([], None, "text", True),
        (0, None, "text", False),
        (0, None, "money", True),
        ("0.00", "", "money", True),
        (0, "0.00", "user", True),
        (0, False, "money", False),
        (True, 1, "money", False),
        ("", 0, "text", False),
        ("", "", "multifield", True),
        ("x", "x", "multifield", False),
        (0, "0", "text", True),
        (1, "1.00", "text", True),
        ("1e6", "1000000", "money", False),
        ("٣", "3", "number", False),
        ("1", "1.0000001", "number", False),
        (True, "Y", "flag", True),
        (False, "N", "flag", True),
        ("1", "Y", "flag", True),
        ("0", "Y", "flag", False),
        ("1", "Y", "text", False),
        ("2026-12-25", "2026-12-25T03:00:00+03:00", "date", True),
        ("2026-12-25", "2026-12-26T03:00:00+03:00", "date", False),
        ("25.12.2026", "2026-12-25", "date", False),
        ("2026-12-25", "25.12.2026", "date", False),
        ("2026-12-25T10:00:00+03:00", "2026-12-25T07:00:00+00:00", "datetime", True),
        ("2026-12-25T10:00:00", "2026-12-25T10:00:00+03:00", "datetime", False),
        ("2026-12-25T10:00:00+03:00", "2026-12-25T10:00:00", "datetime", False),
        ("soon", "2026-12-25T10:00:00+03:00", "datetime", False),
        ([1, 2], ["2", "1"], "user", True),
        ([1], "1", "user", True),
        ([1, 2], [1], "user", False),
        ({"a": 1}, {"a": 1}, "text", True),
        ({"a": 1}, "a", "text", False),
        ("a", {"a": 1}, "text", False),
        ([{"ID": "1", "VALUE": "x"}], [{"ID": "1", "VALUE": "x", "VALUE_TYPE": "WORK"}], "multifield", True),
        ([{"ID": "1", "VALUE": "x", "VALUE_TYPE": "HOME"}], [{"ID": "1", "VALUE": "x", "VALUE_TYPE": "WORK"}], "multifield", False),
        ([{"ID": "2", "VALUE": "x"}], [{"ID": "1", "VALUE": "x"}], "multifield", False),
        ([{"ID": "1"}], [{"ID": "1", "VALUE": "x"}], "multifield", False),
        ([{"VALUE": "x"}], [{"VALUE": "x"}], "multifield", False),
        (["x"], [{"ID": "1"}, "odd"], "multifield", False),
        ("x", [{"ID": "1"}], "multifield", False),
    ],
)
def test_whether_writing_changes_nothing(new: Any, old: Any, kind: str, *, same: bool) -> None:
    """Numbers, days, moments, flags and lists are compared as what they are."""
    assert fields.is_same_value(new, old, kind=kind) is same


@pytest.mark.parametrize(
    ("value", "number"), [(5, 5), ("5.50", "5.5"), ("-1", -1), (True, None), ("", None), ("1 000", None), (None, None), ([], None)]
)
def test_the_number_behind_a_value(value: Any, number: Any) -> None:
    """Only plain digits are a number."""
    assert fields.parse_number(value) == (None if number is None else Decimal(number))


@pytest.mark.parametrize(
    ("value", "ids"), [(7, {"7"}), ("7", {"7"}), ([7, "8"], {"7", "8"}), ({"0": 7}, {"7"}), (0, set()), (None, set()), ("", set())]
)
def test_the_ids_a_value_names(value: Any, ids: set[str]) -> None:
    """One, a list, or a map as PHP makes it."""
    assert fields.parse_ids(value) == ids


def test_a_field_that_nobody_described_is_shown_by_its_code() -> None:
    """Also when there is no description of the record at all."""
    assert fields.find_label(None, "UF_X", "ru") == "UF_X"
    assert fields.find_value({"A": 1}, "B") is None


def test_of_two_spellings_in_one_record_the_first_is_found() -> None:
    """A name that the record spells so is found exactly; any other spelling finds the first field that it may mean."""
    record = {"UF_CRM_A_B": 1, "UF_CRM_AB": 2, "STAGE_ID": "NEW"}
    assert fields.find_value(record, "UF_CRM_AB") == 2
    assert fields.find_value(record, "ufcrmab") == 1
    assert fields.find_value(dict(reversed(record.items())), "ufcrmab") == 2
    assert (fields.has_field(record, "stageId", "deal"), fields.has_field(record, "statusId", "deal")) == (True, False)
