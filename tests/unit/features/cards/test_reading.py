"""New values read by code: nothing else of the call changes, and a flag keeps the spelling it had."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.directory.answers import Resolved, Unresolved
from orchestrator.features.cards.field_input import _read_flag, replace_value, strip_marks
from orchestrator.gate.call.essence import MARKS

names = st.sampled_from(["id", "OPPORTUNITY", "TITLE", "fields", "UF_CRM_1", *sorted(MARKS)])
values = st.recursive(
    st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(names, inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.long
@given(st.dictionaries(names, values, max_size=5), st.sampled_from(["OPPORTUNITY", "TITLE", "UF_CRM_1"]))
def test_one_field_changes_and_everything_else_stays(params: dict[str, Any], code: str) -> None:
    """The marks of the old call go: with them the new one would be taken for it."""
    value = "новое значение"
    changed = replace_value(params, code, value)
    assert _without(changed, code) == _without(strip_marks(params), code)
    assert strip_marks(changed) == changed
    if _stands(strip_marks(params), code):
        assert _stands(changed, code)


def _without(params: Any, code: str) -> Any:
    if not isinstance(params, dict):
        return params
    return {key: _without(item, code) for key, item in params.items() if key != code or isinstance(item, dict)}


def _stands(params: Any, code: str) -> bool:
    return isinstance(params, dict) and any(
        (key == code and not isinstance(item, dict)) or _stands(item, code) for key, item in params.items()
    )


@pytest.mark.parametrize(
    ("present", "words", "value"),
    [("Y", "нет", "N"), ("N", "Да!", "Y"), ("N", "нет", "N"), ("1", "no", "0"), (True, "нет", False), (False, "yes", True), (1, "нет", 0), (0, "да", 1)],
)  # fmt: skip
def test_a_flag_is_written_as_it_was_written(present: Any, words: str, value: Any) -> None:
    found = _read_flag(words, present)
    assert isinstance(found, Resolved)
    assert (found.value, type(found.value)) == (value, type(value))


def test_anything_else_is_neither_yes_nor_no() -> None:
    assert isinstance(_read_flag("наверное", "Y"), Unresolved)
