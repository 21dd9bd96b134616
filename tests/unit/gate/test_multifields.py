"""Phones and addresses: nothing is deleted or doubled that the card did not show, in either family and whatever was written."""

from itertools import count
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.effect import Outcome, Pending
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.gate.call import multifields
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.params import Refusal
from orchestrator.gate.call.ports import Names
from orchestrator.gate.normalize.merge_multifields import find_steps, merge_multifields
from orchestrator.gate.preview.format_values import Reader, format_steps
from orchestrator.language.text import format_phone
from sandbox.portal.errors import PortalError
from sandbox.portal.multifields import classic_changes, universal_changes
from sandbox.portal.store import Store
from state.model.card import Card
from tests.unit.gate.gate_kit import FIRST, LEAD, call
from tests.unit.gate.sandbox_kit import Desk
from tests.unit.spine_kit import VERA

OLD = [
    {"ID": 156, "TYPE_ID": "PHONE", "VALUE_TYPE": "WORK", "VALUE": "+7 900 111-22-33"},
    {"ID": 157, "TYPE_ID": "PHONE", "VALUE_TYPE": "MOBILE", "VALUE": "+79004445566"},
    {"ID": 158, "TYPE_ID": "EMAIL", "VALUE_TYPE": "WORK", "VALUE": "Ivan@example.ru"},
]
READER = Reader(names=cast("Names", None), locale="ru", zone="Europe/Moscow")


def record(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A contact as crm.contact.get shows it."""
    shown: dict[str, Any] = {"ID": "43", "LAST_NAME": "Иванов", "ASSIGNED_BY_ID": "7"}
    for kind in ("PHONE", "EMAIL"):
        mine = [{**row, "ID": str(row["ID"])} for row in rows if row["TYPE_ID"] == kind]
        shown |= {kind: mine} if mine else {}
    return shown


def facts(rows: list[dict[str, Any]]) -> Facts:
    """What was read before judging."""
    return Facts(records={("contact", 43): record(rows)}, first_stages=FIRST)


def update(fields: dict[str, Any], *, in_items: bool) -> Call:
    """A change of contact 43."""
    if in_items:
        return call("crm.item.update", {"entityTypeId": 3, "id": 43, "fields": fields}, actor=LEAD)
    return call("crm.contact.update", {"id": 43, "fields": fields}, actor=LEAD)


def by_portal(rows: list[dict[str, Any]], sent: Call, *, in_items: bool) -> list[dict[str, Any]]:
    """What the sandbox makes of the call."""
    fields = sent.params["fields"]
    store = cast("Store", Numbers(above=max((int(row["ID"]) for row in rows), default=0)))
    return universal_changes(store, rows, fields.get("fm")) if in_items else classic_changes(store, rows, fields)


class Numbers:
    """Gives new elements their numbers, above those that the record's elements have."""

    def __init__(self, *, above: int) -> None:
        self.next = count(max(above + 1, 900))

    def next_id(self, kind: str) -> int:
        del kind
        return next(self.next)


VALUES = st.sampled_from(
    [
        "",
        " ",
        "+79001112233",
        "8 (900) 111-22-33",
        "+79004445566",
        "+79997776655",
        "ivan@EXAMPLE.ru",
        "new@example.ru",
        None,
        79001112233,
        0,
    ]
)
IDS = st.sampled_from([156, "156", "157", 158, "158", 999, "n0", "", None, 0, "1e3"])
CLASSIC = st.fixed_dictionaries(
    {},
    optional={"ID": IDS, "VALUE": VALUES, "VALUE_TYPE": st.sampled_from(["WORK", "HOME", ""]), "DELETE": st.sampled_from(["Y", "N", ""])},
)
UNIVERSAL = st.fixed_dictionaries(
    {},
    optional={
        "typeId": st.sampled_from(["PHONE", "EMAIL", "phone", "FAX", ""]),
        "valueType": st.sampled_from(["WORK", "HOME"]),
        "value": VALUES,
        "id": IDS,
    },
)
KEYS = st.sampled_from(["n0", "n1", "0", "1", "156", "157", "158", "999", "x", "0156"])
ODD: st.SearchStrategy[Any] = st.sampled_from(
    ["+79001112233", "", None, 5, True, [], {}, [[]], ["+79997776655"], {"VALUE": "+79997776655"}]
)
CLASSIC_FIELDS = st.dictionaries(
    st.sampled_from(["PHONE", "EMAIL", "phone", "Email"]),
    st.one_of(ODD, st.lists(st.one_of(CLASSIC, ODD), max_size=4)),
    min_size=1,
    max_size=2,
).filter(lambda made: len({name.upper() for name in made}) == len(made))
UNIVERSAL_FIELDS = st.fixed_dictionaries(
    {"fm": st.one_of(ODD, st.lists(UNIVERSAL, max_size=3), st.dictionaries(KEYS, st.one_of(UNIVERSAL, ODD), max_size=4))}
)


def keys(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The phones and addresses as they are compared."""
    return sorted(element.key for element in multifields.parse_elements(record(rows)))


def written(row: dict[str, Any], value: str) -> str:
    """A value as the card writes it: a number where an address belongs stays as it is."""
    return format_phone(value) if row["TYPE_ID"] == "PHONE" else value


def checked(fields: dict[str, Any], rows: list[dict[str, Any]], *, in_items: bool) -> list[dict[str, Any]]:
    """What a wish leaves of `rows`; every removal and every addition stood on the card, and nothing is there twice."""
    wish = update(fields, in_items=in_items)
    here = facts(rows)
    try:
        sent = merge_multifields(wish, here)
    except Refusal:
        return rows
    steps = [step for found in find_steps(sent, here.records["contact", 43]).values() for step in found]
    try:
        after = by_portal(rows, sent, in_items=in_items)
    except PortalError:  # not an e-mail: the portal says so
        return rows
    words = format_steps(steps, READER)
    for gone in {str(row["ID"]) for row in rows} - {str(row["ID"]) for row in after}:
        assert any(f"удалить {written(row, row['VALUE'])}" in words for row in rows if str(row["ID"]) == gone)
    for row in after:
        old = next((known for known in rows if known["ID"] == row["ID"]), None)
        if old is None or old["VALUE"] != row["VALUE"]:
            new = row["VALUE"]
            edits = [f"{old['VALUE']} → {new}", f"{written(old, old['VALUE'])} → {written(row, new)}"] if old is not None else []
            assert f"добавить {written(row, new)}" in words if old is None else any(edit in words for edit in edits)
    assert len(keys(after)) == len(set(keys(after))) or len(keys(rows)) != len(set(keys(rows)))
    planned = multifields.apply_steps(steps, multifields.parse_elements(here.records["contact", 43]))
    assert sorted(element.key for element in planned) == keys(after)
    assert multifields.find_unmet_steps(steps, multifields.parse_elements(record(after))) == ()
    assert merge_multifields(sent, here) == sent
    return after


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(CLASSIC_FIELDS.map(lambda made: (made, False)), UNIVERSAL_FIELDS.map(lambda made: (made, True))), max_size=4))
def test_no_sequence_of_wishes_deletes_or_doubles_unseen(wishes: list[tuple[dict[str, Any], bool]]) -> None:
    """Each wish judged by what the record holds then; the portal's own behaviour decides what is left."""
    rows = [dict(row) for row in OLD]
    for fields, in_items in wishes:
        rows = checked(fields, rows, in_items=in_items)


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"PHONE": [{"VALUE": "+79997776655"}]}, {"PHONE": [{"VALUE": "+79997776655"}]}),
        ({"PHONE": [{"VALUE": "8 (900) 111-22-33"}, {"VALUE": "+79997776655"}]}, {"PHONE": [{"VALUE": "+79997776655"}]}),
        ({"PHONE": [{"ID": 156, "VALUE": "+7 900 111-22-33"}], "POST": "x"}, {"POST": "x"}),
        ({"PHONE": [{"ID": 156}]}, {"PHONE": [{"ID": "156", "DELETE": "Y"}]}),
        ({"EMAIL": "new@example.ru"}, {"EMAIL": [{"ID": "158", "VALUE": "new@example.ru", "VALUE_TYPE": "WORK"}]}),
        ({"WEB": "https://example.ru"}, {"WEB": [{"VALUE": "https://example.ru"}]}),
        ({"phone": [{"ID": 156, "VALUE": "+7999"}]}, {"PHONE": [{"ID": "156", "VALUE": "+7999", "VALUE_TYPE": "WORK"}]}),
        ({"PHONE": {"VALUE": "+79997776655", "VALUE_TYPE": "HOME"}}, {"PHONE": [{"VALUE": "+79997776655", "VALUE_TYPE": "HOME"}]}),
    ],
)
def test_the_classic_form_that_is_sent(fields: dict[str, Any], sent: dict[str, Any]) -> None:
    """A bare value takes the place of the only one; what is there already is not sent again."""
    assert merge_multifields(update(fields, in_items=False), facts(OLD)).params["fields"] == sent


@pytest.mark.parametrize(
    ("fm", "sent"),
    [
        ({"157": {"valueType": "WORK", "value": "+7999"}}, {"157": {"typeId": "PHONE", "value": "+7999", "valueType": "WORK"}}),
        ([{"typeId": "PHONE", "value": "+79997776655"}], {"n0": {"typeId": "PHONE", "value": "+79997776655"}}),
        ([{"id": 156, "value": ""}], {"156": {"typeId": "PHONE", "value": ""}}),
        ({"n5": {"TYPE_ID": "EMAIL", "VALUE": "b@c.de"}}, {"n0": {"typeId": "EMAIL", "value": "b@c.de"}}),
    ],
)
def test_the_universal_form_that_is_sent(fm: Any, sent: dict[str, Any]) -> None:
    """The kind of a known element is known; a list, which would add, becomes the map that says so."""
    assert merge_multifields(update({"fm": fm}, in_items=True), facts(OLD)).params["fields"] == {"fm": sent}


@pytest.mark.parametrize(
    ("fields", "in_items", "says"),
    [
        ({"PHONE": "+79997776655"}, False, "ID 156: +7 900 111-22-33; ID 157: +79004445566"),
        ({"PHONE": [{"ID": 999, "VALUE": "+7"}]}, False, "ID 156"),
        ({"PHONE": [{"ID": 158, "VALUE": "+7"}]}, False, "ID 156"),
        ({"PHONE": [{"ID": 156, "VALUE": "+79004445566"}]}, False, "does not hold already"),
        ({"PHONE": [{"ID": 156, "VALUE": "+7"}, {"ID": 156}]}, False, "once"),
        ({"PHONE": [{"VALUE": ""}]}, False, "with a value"),
        ({"PHONE": []}, False, "a list of elements"),
        ({"PHONE": None}, False, "a list of elements"),
        ({"PHONE": [{"VALUE": "+7", "FOO": 1}]}, False, "a list of elements"),
        ({"PHONE": [{"VALUE": ["+7"]}]}, False, "a list of elements"),
        ({"fm": {"n0": {"typeId": "PHONE", "value": "+7"}}}, False, "a list of elements"),
        ({"PHONE": [{"VALUE": "+7"}]}, True, "fm, a map"),
        ({"fm": "+7"}, True, "fm, a map"),
        ({"fm": {"n0": {"value": "+7"}}}, True, "one of PHONE"),
        ({"fm": {"999": {"typeId": "PHONE", "value": "+7"}}}, True, "ID 156"),
        ({"fm": {"157": {"typeId": "EMAIL", "value": "a@b.c"}}}, True, "ID 158"),
        ({"fm": {"x": {"typeId": "PHONE", "value": "+7"}}}, True, "fm, a map"),
        ({"fm": {"n0": {"typeId": "FAX", "value": "+7"}}}, True, "one of PHONE"),
    ],
)
def test_what_has_no_single_reading_is_refused_with_the_right_shape(fields: dict[str, Any], says: str, *, in_items: bool) -> None:
    """The model reads what the record has, and how it is written."""
    with pytest.raises(Refusal) as found:
        merge_multifields(update(fields, in_items=in_items), facts(OLD))
    assert found.value.verdict.reason.code == "gate-param-invalid"
    assert says in found.value.verdict.detail or says in str(found.value.verdict.reason.args)


def test_a_batch_knows_what_its_earlier_commands_do() -> None:
    """The second command would add what the first one adds."""
    cmd = {"a": "crm.contact.update?id=43&fields[PHONE][0][VALUE]=%2B79997776655", "b": "crm.contact.update?id=43&fields[POST]=x&fields[PHONE][0][VALUE]=89997776655"}  # fmt: skip
    wish = call("batch", {"cmd": cmd}, actor=LEAD)
    sent = merge_multifields(wish, facts(OLD))
    assert [sorted(leaf.params["fields"]) for leaf in sent.commands] == [["PHONE"], ["POST"]]
    assert "PHONE" not in sent.params["cmd"]["b"]
    assert sent.proposed_essence
    assert merge_multifields(sent, facts(OLD)) == sent


@pytest.mark.req("S004-37")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"ID": 156}]}}),
        ("crm.item.update", {"entityTypeId": 3, "id": 43, "fields": {"fm": {"156": {"value": ""}}}}),
        ("batch", {"cmd": {"a": "crm.contact.update?id=43&fields[PHONE][0][ID]=156"}}),
    ],
)
async def test_a_deletion_is_on_the_card_before_it_happens(desk: Desk, method: str, params: dict[str, Any]) -> None:
    """Vector 18: an element with ID and no value deletes, so it asks and the card says "remove"."""
    phones = await desk.phones()
    waits = await desk.wish(method, params)
    preview = desk.card(waits).preview
    line = (preview["items"] or [preview])[0]["lines"][0]
    assert line["before"].startswith(phones[0])
    assert line["after"] == f"удалить {phones[0]}"
    done = await desk.approve(waits)
    assert (done.status, done.unchanged) == ("succeeded", ())
    assert await desk.phones() == phones[1:]


async def test_the_same_phone_is_not_added_twice(desk: Desk) -> None:
    """Vector 18, its other half: in another writing, alone or again, and through either family."""
    phones = await desk.phones()
    for method, params in (
        ("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"VALUE": phones[0].replace("+7", "8", 1)}]}}),
        ("crm.item.update", {"entityTypeId": 3, "id": 43, "fields": {"fm": [{"typeId": "PHONE", "value": phones[0]}]}}),
    ):
        found = await desk.refused(method, params)
        assert found.reason.code == "gate-already-so"
    assert await desk.phones() == phones


async def test_two_cards_for_one_phone_add_it_once(desk: Desk) -> None:
    """The second yes finds the phone there: nothing is sent."""
    first = await desk.wish("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"VALUE": "+79997776655"}]}})
    second = await desk.wish("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"VALUE": "+79997776655", "VALUE_TYPE": "HOME"}]}})
    assert isinstance(second, Pending)
    assert (await desk.approve(first)).status == "succeeded"
    told = await desk.approve(second)
    assert (told.status, told.reason and told.reason.code) == ("refused", "gate-already-so")
    assert (await desk.phones()).count("+79997776655") == 1


async def replaced(desk: Desk, waits: Outcome | Pending) -> Card:
    """The card that a yes leads to when the world changed meanwhile."""
    entry = desk.card(waits)
    given = Decision(confirmation_id=entry.confirmation_id, nonce=entry.nonce, approve=True, actor=VERA, via="button")
    decided = await desk.world.gate.decide_card(given, mode="full", ledger=desk.session)
    return desk.session.state.cards[decided.replaced_by.confirmation_id]


async def test_what_came_meanwhile_is_not_sent_with_the_rest(desk: Desk) -> None:
    """A phone that somebody else added drops out; a new card shows what is left to do, and only that is done."""
    both = [{"VALUE": "+79997776655"}, {"VALUE": "+79990001122"}]
    waits = await desk.wish("crm.contact.update", {"id": 43, "fields": {"PHONE": both}})
    await desk.ask("crm.contact.update", id=43, fields={"PHONE": both[:1]})
    card = await replaced(desk, waits)
    assert card.preview["lines"][0]["after"] == "добавить +7 999 000-11-22"
    given = Decision(confirmation_id=card.confirmation_id, nonce=card.nonce, approve=True, actor=VERA, via="button")
    decided = await desk.world.gate.decide_card(given, mode="full", ledger=desk.session)
    assert decided.outcome.status == "succeeded"
    assert sorted(await desk.phones())[-2:] == ["+79990001122", "+79997776655"]


async def test_a_phone_that_changed_meanwhile_is_shown_again(desk: Desk) -> None:
    """The consent to an edit through `fm` is bound to the number it was shown for."""
    fm = {"156": {"value": "+79997776655"}}
    waits = await desk.wish("crm.item.update", {"entityTypeId": 3, "id": 43, "fields": {"fm": fm}})
    await desk.ask("crm.contact.update", id=43, fields={"PHONE": [{"ID": 156, "VALUE": "+79990001122"}]})
    card = await replaced(desk, waits)
    assert card.preview["lines"][0]["after"] == "+7 999 000-11-22 → +7 999 777-66-55"


async def test_a_repaired_wish_met_again_is_the_same_wish(desk: Desk) -> None:
    """Its card waits; it does not get a second one."""
    wish = ("crm.contact.update", {"id": 43, "fields": {"PHONE": {"VALUE": "+79997776655"}}})
    first, again = await desk.wish(*wish), await desk.wish(*wish)
    assert first.confirmation_id == again.confirmation_id


async def test_a_new_contact_has_each_phone_once(desk: Desk) -> None:
    """Adds are brought into form too."""
    done = await desk.done("crm.contact.add", {"fields": {"NAME": "x", "PHONE": ["+79997776655", {"VALUE": "8 999 777-66-55"}]}})
    assert await desk.phones(done.result) == ["+79997776655"]
    item = {"entityTypeId": 3, "fields": {"name": "y", "fm": {"n0": {"typeId": "PHONE", "value": "+79990001122"}}}}
    made = await desk.done("crm.item.add", item)
    assert await desk.phones(made.result["item"]["id"]) == ["+79990001122"]
