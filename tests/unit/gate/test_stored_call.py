"""What is stored of a call is the whole call: thawed, it is judged, hashed and sent as the one that was shown."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.gate.call.essence import MARKS
from orchestrator.gate.call.serialization import StoredOrder, UndecodableCall, decode_call, encode_call, get_essence
from tests.unit.gate.gate_kit import ANNA, LEAD, call, catalogue

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1.5, "TITLE": "Ё 🙂"}}),
    ("crm.deal.add", {"fields": {"TITLE": "Новая", "CONTACT_IDS": [43, 44]}}),
    ("crm.item.update", {"entityTypeId": 177, "id": 5, "fields": {"title": "x"}}),
    ("crm.item.add", {"entityTypeId": 2, "fields": {"title": "x"}}),
    ("tasks.task.update", {"taskId": 8017, "fields": {"DEADLINE": "2026-12-01T18:00:00+03:00"}}),
    ("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "привет"}}),
    ("batch", {"cmd": {"a": "crm.deal.add?fields[TITLE]=A", "b": "crm.deal.update?id=481&fields[TITLE]=$result[a]", "c": "user.current"}}),
    ("event.bind", {"event": "ONCRMDEALADD", "handler": "https://hooks.example/x"}),
]


@pytest.mark.req("G2")
@pytest.mark.parametrize(("method", "params"), CALLS)
@pytest.mark.parametrize("actor", [ANNA, LEAD])
def test_a_call_comes_back_as_it_was(method: str, params: dict[str, Any], actor: Any) -> None:
    """Through stored JSON every part is the same, so the fingerprint is too."""
    made = call(method, params, actor=actor)
    back = decode_call(json.loads(json.dumps(encode_call(made), sort_keys=True)), catalogue())
    assert back == made
    assert (back.fingerprint, get_essence(back), encode_call(back)) == (made.fingerprint, get_essence(made), encode_call(made))


@given(
    st.dictionaries(
        st.sampled_from(["TITLE", "OPPORTUNITY", "UF_CRM_X", "STAGE_ID"]),
        st.text('аб🙂 "\\xyz', max_size=9) | st.integers(0, 10**9) | st.booleans(),
        min_size=1,
    )
)
def test_any_fields_survive(fields: dict[str, Any]) -> None:
    """Values keep their types."""
    made = call("crm.deal.update", {"id": 481, "fields": {**fields, "TITLE": "x"}})
    assert decode_call(json.loads(json.dumps(encode_call(made))), catalogue()).params == made.params


def test_a_method_that_is_gone_cannot_be_thawed() -> None:
    """Neither alone nor inside a batch; the error names it."""
    rows = [row for row in catalogue() if row.name != "crm.deal.update"]
    smaller = Catalogue(rows, catalogue().entities)
    for method, params in (CALLS[0], CALLS[6]):
        with pytest.raises(UndecodableCall, match=r"crm\.deal\.update"):
            decode_call(encode_call(call(method, params)), smaller)


@pytest.mark.req("G2")
@pytest.mark.parametrize(("method", "params"), [CALLS[1], CALLS[3], CALLS[6]])
def test_the_essence_forgets_only_the_marks(method: str, params: dict[str, Any]) -> None:
    """The same wish in two places has two fingerprints and one essence."""
    from tests.unit.gate.gate_kit import effect, made  # noqa: PLC0415 - `made` is a local name above

    first, second = made(effect(method, params), effect_id="e1"), made(effect(method, params), effect_id="e2")
    assert first.fingerprint != second.fingerprint
    assert get_essence(first) == get_essence(second)
    assert {"ORIGIN_ID", "originId"} <= MARKS


@pytest.mark.parametrize(
    "other",
    [
        ("crm.deal.update", {"id": 482, "fields": {"TITLE": "x"}}),
        ("crm.deal.update", {"id": 481, "fields": {"TITLE": "y"}}),
        ("crm.deal.update", {"id": 481, "fields": {"TITLE": "x", "COMMENTS": "z"}}),
        ("crm.lead.update", {"id": 481, "fields": {"TITLE": "x"}}),
        ("batch", {"cmd": {"a": "crm.deal.update?id=481&fields[TITLE]=x"}}),
    ],
)
def test_another_call_has_another_essence(other: tuple[str, dict[str, Any]]) -> None:
    """Changed params, another record, another method: a new request (S004-X3)."""
    assert get_essence(call("crm.deal.update", {"id": 481, "fields": {"TITLE": "x"}})) != get_essence(call(*other))


def test_a_stored_call_that_lacks_a_field_is_not_run() -> None:
    """Whatever is left of a damaged row can be read; decoding its call checks every field."""
    whole = encode_call(call("crm.deal.update", {"id": 481, "fields": {"TITLE": "x"}}))
    for name in whole.keys() - {"ties", "wish"}:
        row = {"turn_id": "t", "call": {key: value for key, value in whole.items() if key != name}}
        left = StoredOrder.from_data(row)
        assert left.turn_id == "t"
        with pytest.raises(ValidationError):
            decode_call(left.call, catalogue())
    with pytest.raises(AttributeError):
        _ = StoredOrder.from_data({"turn_id": "t"}).confirmation_id
