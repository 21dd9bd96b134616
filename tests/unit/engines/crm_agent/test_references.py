"""References are whole values: found in order, replaced with their types, and never pasted into text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.crm_agent.core.planned_steps import find_references, replace_references
from orchestrator.directory.field_references import find_doubled_keys

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["@me", "@deal:Ромашка", "@sum:5", "@", "@deal:"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(("value", "found"), [
    ({"id": "@deal:Ромашка", "fields": {"A": "@me", "B": ["@sum:5", "@me"]}}, ["@deal:Ромашка", "@me", "@sum:5"]),
    ("@current", ["@current"]),
    ("@user:Анна Ковалёва", ["@user:Анна Ковалёва"]),
    ("@stage:до\nконца", ["@stage:до\nконца"]),
    ("@date:до конца месяца", []),  # by its place
    ("@stage:Договор", ["@stage:Договор"]),
    ("@category:Тендеры", ["@category:Тендеры"]),
    (("@lead:x", "@contact:x", "@company:x", "@task:x"), ["@lead:x", "@contact:x", "@company:x", "@task:x"]),
    ("текст @me в строке", []),
    ("@deal:", []),
    ("@deal: Ромашка", []),
    ("@meeting", []),
    ("@current:1", []),
    ("@Deal:x", []),
    ("@invoice:5", []),
    ("anna@user:x", []),
    ({"@me": 1}, []),
    ({"fields": {"@field:Площадка": "@option:Север"}}, ["@field:Площадка", "@option:Север"]),
    ({"filter": {">=@field:Бюджет": "@sum:5", "!=@field:A b": 1}}, ["@field:Бюджет", "@field:A b", "@sum:5"]),
    ({"a": "@option:x", "select": ["@field:y"]}, ["@field:y", "@option:x"]),
    ({"@field:": 1, "x@field:y": 2, "@Field:z": 3}, []),
    (5, []),
    (None, []),
])  # fmt: skip
def test_only_whole_values_are_references(value: Any, found: list[str]) -> None:
    """In the order of the params, each once; keys and parts of text are none."""
    assert find_references(value) == found


@pytest.mark.slow
@given(JSON)
def test_values_keep_their_types_and_all_else_its_place(value: Any) -> None:
    """Replacing nothing changes nothing; replacing everything leaves no reference."""
    assert replace_references(value, {}) == _listed(value)
    found = find_references(value)
    values: dict[str, Any] = {reference: number for number, reference in enumerate(found)}
    assert find_references(replace_references(value, values)) == []


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, (list, tuple)) else value


def test_a_value_is_put_in_and_never_expanded_again() -> None:
    """A resolved name that looks like a reference stays text (G3); text around a reference is not touched."""
    params = {"id": "@deal:Ромашка", "fields": {"TITLE": "@deal:Ромашка и @me", "OWNER": ["@me"]}}
    made = replace_references(params, {"@deal:Ромашка": "@me", "@me": 7})
    assert made == {"id": "@me", "fields": {"TITLE": "@deal:Ромашка и @me", "OWNER": [7]}}


def test_a_key_is_replaced_with_its_sign_and_never_merged() -> None:
    """The value stays with its field; a field that would stand twice is found before one of the values is lost."""
    values = {"@field:Бюджет": "UF_CRM_B", "@sum:5": 5}
    asked = {"filter": {">=@field:Бюджет": "@sum:5"}, "select": ["@field:Бюджет", "ID"]}
    assert replace_references(asked, values) == {"filter": {">=UF_CRM_B": 5}, "select": ["UF_CRM_B", "ID"]}
    assert find_doubled_keys(asked, values) == ""
    assert find_doubled_keys({"fields": [{"@field:Бюджет": 1, "UF_CRM_B": 2}]}, values) == "UF_CRM_B"
    assert find_doubled_keys({"filter": {">=@field:Бюджет": 1, "<=@field:Бюджет": 2}}, values) == ""
