"""Two spellings of one write have one essence, and two different writes never have the same."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.gate.call.effect import Call
from tests.unit.gate.gate_kit import call, effect, judged, made
from tests.unit.gate.reading_kit import load_calls

Wish = tuple[str, dict[str, Any]]


def deal(**fields: Any) -> Wish:
    """A change of deal 481 with the classic method."""
    return "crm.deal.update", {"id": 481, "fields": fields}


def task(**fields: Any) -> Wish:
    """A new task."""
    return "tasks.task.add", {"fields": {"TITLE": "Счёт", "RESPONSIBLE_ID": 7, **fields}}


def comment(**fields: Any) -> Wish:
    """A comment on a deal."""
    return "crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "x", **fields}}


SAME: list[tuple[Wish, Wish]] = [
    (deal(ASSIGNED_BY_ID=6), deal(ASSIGNED_BY_ID="6")),
    (deal(OPPORTUNITY=500), deal(OPPORTUNITY="500.00")),
    (deal(OPPORTUNITY=500.0), deal(OPPORTUNITY="500")),
    (deal(TITLE=500), deal(TITLE="500")),
    (deal(OPENED="Y"), deal(OPENED=True)),
    (deal(OPENED="0"), deal(OPENED="N")),
    (deal(TITLE="x", OPENED="Y"), deal(OPENED="Y", TITLE="x")),
    (deal(TITLE="x"), ("CRM.Deal.Update", {"ID": "481", "FIELDS": {"title": "x"}})),
    (deal(TITLE="x", STAGE_ID="NEW"), ("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"title": "x", "stageId": "NEW"}})),
    (deal(UF_CRM_3_DIGIT=5), ("crm.item.update", {"entityTypeId": "2", "id": 481, "fields": {"ufCrm3Digit": "5"}})),
    (deal(CONTACT_IDS=[43, "44"]), deal(CONTACT_IDS={"0": "43", "1": 44})),
    (
        ("crm.lead.add", {"fields": {"TITLE": "Лютик", "STATUS_ID": "NEW", "OPPORTUNITY": 9}}),
        ("crm.item.add", {"entityTypeId": 1, "fields": {"title": "Лютик", "stageId": "NEW", "opportunity": "9.0"}}),
    ),
    (
        ("crm.lead.add", {"fields": {"TITLE": "x", "PHONE": [{"VALUE": "+7900", "VALUE_TYPE": "WORK"}]}}),
        ("crm.item.add", {"entityTypeId": 1, "fields": {"title": "x", "fm": [{"typeId": "PHONE", "value": "+7900", "valueType": "WORK"}]}}),
    ),
    (("crm.deal.delete", {"id": 481}), ("crm.item.delete", {"entityTypeId": 2, "id": "481"})),
    (comment(), comment(ENTITY_TYPE="DEAL")),
    (comment(), comment(ENTITY_TYPE=2, ENTITY_ID="481")),
    (task(AUDITORS=[6, 8]), task(AUDITORS=["8", "6"])),
    (task(TASK_CONTROL="Y"), task(TASK_CONTROL=True)),
    (task(DEADLINE="2026-12-01T18:00:00+03:00"), task(DEADLINE="2026-12-01T15:00:00Z")),
    (task(DEADLINE="2026-12-01 18:00"), task(DEADLINE="2026-12-01T18:00:00")),
    (task(PRIORITY=2), task(PRIORITY="2")),
    (task(UF_CRM_TASK=["D_481"]), task(UF_CRM_TASK=["deal_481"])),
    (
        ("crm.item.add", {"entityTypeId": 177, "fields": {"title": "x", "opportunity": 1}}),
        ("crm.item.add", {"entityTypeId": "177", "fields": {"opportunity": "1.00", "title": "x"}}),
    ),
    (
        ("crm.deal.productrows.set", {"id": 481, "rows": [{"PRICE": 5, "QUANTITY": 1}]}),
        ("crm.deal.productrows.set", {"rows": [{"QUANTITY": "1", "PRICE": "5"}], "id": "481"}),
    ),
]
OTHER: list[tuple[Wish, Wish]] = [
    (deal(TITLE="007"), deal(TITLE="7")),
    (deal(TITLE="500"), deal(TITLE="500.0")),
    (deal(TITLE="1e3"), deal(TITLE="1000")),
    (deal(TITLE="Y"), deal(TITLE="1")),
    (deal(TITLE="x"), deal(TITLE="X")),
    (deal(TITLE="x"), deal(TITLE="x ")),
    (deal(TITLE="true"), deal(TITLE="Y")),
    (deal(COMMENTS="06"), deal(COMMENTS="6")),
    (deal(COMMENTS="2026-12-01T18:00:00+03:00"), deal(COMMENTS="2026-12-01T15:00:00Z")),
    (deal(UF_CRM_1747310101="500"), deal(UF_CRM_1747310101="500.00")),
    (deal(UF_CRM_12_3="x"), deal(UF_CRM_1_23="x")),
    (deal(CLOSEDATE="2026-12-01T00:00:00+03:00"), deal(CLOSEDATE="2026-11-30T21:00:00Z")),
    (task(DEADLINE="01/02/2026"), task(DEADLINE="2026-01-02")),
    (task(DEADLINE="2026-12-01T18:00:00"), task(DEADLINE="2026-12-01T18:00:00Z")),
    (deal(OPPORTUNITY=500), deal(OPPORTUNITY=5000)),
    (deal(OPPORTUNITY=500), deal(OPPORTUNITY="500.001")),
    (deal(CONTACT_IDS=[43, 44]), deal(CONTACT_IDS=[44, 43])),
    (deal(CONTACT_IDS=[43]), deal(CONTACT_ID=43)),
    (
        ("imopenlines.config.update", {"CONFIG_ID": 1, "PARAMS": {"QUEUE": [6, 8]}}),
        ("imopenlines.config.update", {"CONFIG_ID": 1, "PARAMS": {"QUEUE": [8, 6]}}),
    ),
    (deal(ASSIGNED_BY_ID=6), deal(ASSIGNED_BY_ID=60)),
    (
        ("crm.lead.add", {"fields": {"TITLE": "x", "PHONE": [{"VALUE": "+7900"}]}}),
        ("crm.lead.add", {"fields": {"TITLE": "x", "PHONE": [{"VALUE": "7900"}]}}),
    ),
    (
        ("crm.lead.add", {"fields": {"TITLE": "x", "PHONE": [{"VALUE": "+7900"}]}}),
        ("crm.lead.add", {"fields": {"TITLE": "x", "EMAIL": [{"VALUE": "+7900"}]}}),
    ),
    (("crm.lead.add", {"fields": {"TITLE": "x"}}), ("crm.item.add", {"entityTypeId": 2, "fields": {"title": "x"}})),
    (("crm.item.add", {"entityTypeId": 177, "fields": {"title": "x"}}), ("crm.item.add", {"entityTypeId": 178, "fields": {"title": "x"}})),
    (comment(), comment(ENTITY_TYPE="lead")),
    (("crm.deal.update", {"id": 481, "fields": {"TITLE": "x"}}), ("crm.deal.update", {"id": 482, "fields": {"TITLE": "x"}})),
    (("crm.deal.productrows.set", {"id": 481, "rows": []}), ("crm.deal.productrows.set", {"id": 481, "rows": [{"PRICE": 0}]})),
    (("tasks.task.start", {"taskId": 8017}), ("tasks.task.pause", {"taskId": 8017})),
]


@pytest.mark.req("S004-33", "G1")
@pytest.mark.parametrize(("first", "second"), SAME)
def test_two_spellings_of_one_write_have_one_essence(first: Wish, second: Wish) -> None:
    """Seen: each of these pairs was sent twice in one turn."""
    assert call(*first).essence == call(*second).essence


@pytest.mark.parametrize(("first", "second"), OTHER)
def test_two_writes_that_differ_have_two_essences(first: Wish, second: Wish) -> None:
    """A text is what it says: leading zeros, numbers that are titles, the spelling of a phone."""
    assert call(*first).essence != call(*second).essence


def respell(value: Any, draw: st.DrawFn) -> Any:
    """The same JSON value in another spelling that the portal reads alike: whole numbers as text, lists as mappings, names in any order."""
    if isinstance(value, Mapping):
        return {name: respell(value[name], draw) for name in draw(st.permutations([*value]))}
    if isinstance(value, list):
        items = [respell(item, draw) for item in value]
        return {str(place): item for place, item in enumerate(items)} if items and draw(st.booleans()) else items
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and draw(st.booleans()) else value


CALLS = sorted(load_calls())


@pytest.mark.long
@given(st.data())
def test_any_realistic_write_keeps_its_essence_when_it_is_spelled_anew(data: st.DataObject) -> None:
    """Every write of the catalogue: numbers as text, other order of names, another letter case of the method."""
    method = data.draw(st.sampled_from(CALLS))
    params = dict(load_calls()[method])
    again = data.draw(st.composite(lambda draw: {name: respell_top(value, draw) for name, value in params.items()})())
    first, second = call(method, copy.deepcopy(params)), call(method.upper() if data.draw(st.booleans()) else method, again)
    assert first.essence == second.essence


def respell_top(value: Any, draw: st.DrawFn) -> Any:
    """A parameter in another spelling; a list that is a parameter of its own stays a list, as some methods demand."""
    return [respell(item, draw) for item in value] if isinstance(value, list) else respell(value, draw)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all texts in a JSON value."""
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    return [path] if isinstance(value, str) else [found for key, item in pairs for found in leaves(item, (*path, key))]


@pytest.mark.long
@given(st.data())
def test_any_realistic_write_with_another_text_has_another_essence(data: st.DataObject) -> None:
    """One letter more in any text of any write makes another write."""
    method = data.draw(st.sampled_from([name for name in CALLS if leaves(dict(load_calls()[name]))]))
    params, other = copy.deepcopy(dict(load_calls()[method])), copy.deepcopy(dict(load_calls()[method]))
    *heads, last = data.draw(st.sampled_from(leaves(params)))
    place: Any = other
    for head in heads:
        place = place[head]
    place[last] += data.draw(st.sampled_from(["я", "0", "."]))
    found = made(effect(method, other))
    assert not isinstance(found, Call) or found.essence != call(method, params).essence


def test_equal_commands_of_a_batch_are_found_in_any_spelling() -> None:
    """The card of a batch says how many of its commands repeat another one."""
    commands = {
        "a": "crm.lead.add?fields[TITLE]=Лютик&fields[OPPORTUNITY]=500",
        "b": "crm.item.add?entityTypeId=1&fields[opportunity]=500.00&fields[title]=Лютик",
        "c": "crm.lead.add?fields[TITLE]=Мак",
    }
    verdict = judged(effect("batch", {"cmd": commands}))
    assert [reason.args["count"] for reason in verdict.reasons if reason.code == "gate-batch-twice"] == [1]


def test_the_marks_of_the_program_change_no_essence() -> None:
    """Each proposal gets marks of its own: a call that was denied, or made, is known again all the same."""
    logged = {"fields": {"OWNER_TYPE_ID": 2, "OWNER_ID": 481, "TYPE_ID": 2, "RESPONSIBLE_ID": 7, "SUBJECT": "Звонок"}}
    for method, params in (("crm.activity.add", logged), ("crm.lead.add", {"fields": {"TITLE": "x"}})):
        first, second = made(effect(method, params), effect_id="e1"), made(effect(method, params), effect_id="e2")
        assert first.params != second.params
        assert first.essence == second.essence
