"""For every update: what an undo writes puts the touched fields back exactly, touches no other, and never covers another hand."""

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.features.undo.rules import Conflict, RestoreCall, plan_restore
from orchestrator.gate.call.before_image import build_before_image
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.undo import undo_policy
from orchestrator.gate.undo.undo_policy import CompletedCall
from tests.unit.features.undo.undo_kit import Office
from tests.unit.spine_kit import _shipped_rules

POLICY, CATALOGUE = _shipped_rules()
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=0, max_size=12)
SUM = st.integers(0, 10**9).map(lambda cents: f"{cents // 100}.{cents % 100:02}")
DAY = st.integers(1, 28).map(lambda day: f"2026-12-{day:02}T03:00:00+03:00")
VALUES: dict[str, Any] = {
    "TITLE": TEXT,
    "COMMENTS": TEXT,
    "OPPORTUNITY": SUM,
    "CURRENCY_ID": st.sampled_from(["RUB", "USD"]),
    "STAGE_ID": st.sampled_from(["NEW", "WON", "LOSE"]),
    "ASSIGNED_BY_ID": st.sampled_from(["6", "7", "8"]),
    "CLOSEDATE": DAY,
    "UF_CRM_OWN": st.one_of(TEXT, st.lists(st.sampled_from("123"), min_size=1, max_size=3)),
    "CONTACT_ID": st.sampled_from(["43", "44", None]),
}
RECORD = st.fixed_dictionaries(VALUES)
SENT = st.fixed_dictionaries({}, optional=VALUES).filter(bool)
DEAL = ("deal", 481)


def done_of(method: str, params: dict[str, Any], target: tuple[str, int], record: dict[str, Any]) -> CompletedCall:
    """The call as the journal keeps it, with the before-image that the gate takes."""
    spec = CATALOGUE.find(method)
    call = Call(
        kind="bitrix", method=method, params=params, spec=spec, classes=spec.classes, portal="", targets=(target,), entity=target[0],
        entities={target[0]: CATALOGUE.entities[target[0]]},
    )  # fmt: skip
    image = build_before_image(call, Facts(records={target: record}))
    return CompletedCall(effect_id="e", method=method, params=params, before=image, at=datetime(2026, 11, 21, tzinfo=UTC))


def undone(done: CompletedCall, target: tuple[str, int], record: dict[str, Any]) -> Any:
    parts = undo_policy.build_undo_parts(done, policy=POLICY, catalogue=CATALOGUE)
    assert isinstance(parts, tuple), parts
    return plan_restore(parts, {target: record}, CATALOGUE)


def applied(record: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """As the portal keeps it: an emptied reference is none."""
    return {**record, **{name: None if value == "" and name.endswith("_ID") else value for name, value in fields.items()}}


@pytest.mark.slow
@given(RECORD, SENT)
@settings(max_examples=300, deadline=None)
def test_an_undo_of_an_update_restores_exactly(before: dict[str, Any], sent: dict[str, Any]) -> None:
    """Whatever was written over whatever: the record is as it was, and what the call did not touch is not written."""
    sent = {name: "" if value is None else value for name, value in sent.items()}
    record = {"ID": "481", "CATEGORY_ID": "0", **before}
    done = done_of("crm.deal.update", {"id": 481, "fields": sent}, DEAL, record)
    after = applied(record, sent)
    found = undone(done, DEAL, after)
    if not isinstance(found, RestoreCall):
        assert all(
            after[name] == record[name]
            or all(value is None or value == "" for value in (after[name], record[name]))
            or _same(after[name], record[name])
            for name in sent
        )
        return
    assert set(found.params["fields"]) <= set(sent)
    back = applied(after, found.params["fields"])
    assert {name: value or "" for name, value in back.items() if not _same(value, record[name])} == {}


@pytest.mark.slow
@given(RECORD, SENT, st.data())
@settings(max_examples=300, deadline=None)
def test_no_undo_covers_what_another_hand_wrote(before: dict[str, Any], sent: dict[str, Any], data: st.DataObject) -> None:
    """A touched field that holds something else by now, or a sum of another currency by now, stops the whole undo."""
    sent = {name: "" if value is None else value for name, value in sent.items()}
    record = {"ID": "481", "CATEGORY_ID": "0", **before}
    done = done_of("crm.deal.update", {"id": 481, "fields": sent}, DEAL, record)
    touched = data.draw(st.sampled_from(sorted(sent)))
    other = data.draw(VALUES[touched].filter(lambda value: not _same(value, sent[touched]) and not _same(value, record[touched])))
    found = undone(done, DEAL, {**applied(record, sent), touched: other})
    if not _same(sent[touched], record[touched]):
        assert isinstance(found, Conflict)
        assert touched in {one.name for one in found.fields}


PHONES = st.lists(st.integers(0, 9), min_size=0, max_size=4, unique=True).map(
    lambda tails: [{"ID": str(150 + tail), "TYPE_ID": "PHONE", "VALUE": f"+7999000000{tail}", "VALUE_TYPE": "WORK"} for tail in tails]
)


@pytest.mark.slow
@given(PHONES, st.data())
@settings(max_examples=200, deadline=None)
def test_phones_come_back_as_people_see_them(phones: list[dict[str, str]], data: st.DataObject) -> None:
    """Added, edited and removed ones in any mixture; one that somebody added since stops it."""
    edits = data.draw(st.dictionaries(st.sampled_from([one["ID"] for one in phones]), st.sampled_from("er"))) if phones else {}
    written: list[dict[str, str]] = []
    for number, (key, how) in enumerate(sorted(edits.items())):
        written.append({"ID": key, "VALUE": f"+7888000000{number}"} if how == "e" else {"ID": key, "DELETE": "Y"})
    written += [{"VALUE": f"+7777000000{number}", "VALUE_TYPE": "HOME"} for number in range(data.draw(st.integers(0 if written else 1, 2)))]
    record: dict[str, Any] = {"ID": "43", "ASSIGNED_BY_ID": "7", "PHONE": phones}
    done = done_of("crm.contact.update", {"id": 43, "fields": {"PHONE": written}}, ("contact", 43), record)
    portal = Office()
    portal.records["contact", 43] = after = copy.deepcopy(record)
    portal.perform("crm.contact.update", {"id": 43, "fields": {"PHONE": written}})
    found = undone(done, ("contact", 43), after)
    assert isinstance(found, RestoreCall)
    stranger = {**after, "PHONE": [*after["PHONE"], {"ID": "999", "TYPE_ID": "PHONE", "VALUE": "+70001112233", "VALUE_TYPE": "WORK"}]}
    assert isinstance(undone(done, ("contact", 43), stranger), Conflict)
    portal.perform(found.method, dict(found.params))
    assert sorted((one["VALUE"], one["VALUE_TYPE"]) for one in after["PHONE"]) == sorted(
        (one["VALUE"], one["VALUE_TYPE"]) for one in phones
    )


def _same(left: Any, right: Any) -> bool:
    """The same for people: an emptied field is empty, spaces at the ends of texts mean nothing, a list has no order."""
    if isinstance(left, list) or isinstance(right, list):
        one, two = (sorted(value) if isinstance(value, list) else [value] for value in (left, right))
        return one == two
    return str(left or "").split() == str(right or "").split()
