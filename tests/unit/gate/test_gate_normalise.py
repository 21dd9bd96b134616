"""One exact call, or a refusal that says why: names, parameters, fields, records."""

import math
from typing import Any

import pytest

from bitrix.catalogue.catalogue import Catalogue, Method
from orchestrator.domain.effect import Effect
from orchestrator.gate.call.effect import Call, Refuse
from orchestrator.gate.call.params import sort_params
from orchestrator.gate.normalize.normalize import normalize
from state.canonical import dumps, loads
from tests.unit.gate.gate_kit import ANNA, LEAD, PORTAL, TOKEN, call, catalogue, effect, made, refusal

DELETE = {"id": 481}


@pytest.mark.req("S004-28", "S004-A5")
@pytest.mark.parametrize("written", ["crm.deal.get", "CRM.Deal.GET", " crm.deal.get\n", "Crm.deal.get"])
def test_a_method_is_found_in_any_case_and_sent_in_one(written: str) -> None:
    """Trimmed, looked up without case, sent in the catalogue's spelling."""
    assert call(written, DELETE).method == "crm.deal.get"


@pytest.mark.req("S004-28", "S004-A5")
@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("crm.deal.delete.json", "gate-method-odd"),
        ("CRM.Deal.Delete.XML", "gate-method-odd"),
        ("crm.deal.delete/", "gate-method-odd"),
        ("/crm.deal.delete", "gate-method-odd"),
        ("crm.deal.delete?id=1", "gate-method-odd"),
        ("crm%2Edeal%2Edelete", "gate-method-odd"),
        ("crm.deal. delete", "gate-method-odd"),
        ("crm.deal.delete;crm.deal.get", "gate-method-odd"),
        ("crm..deal.get", "gate-method-odd"),
        ("crm.dеal.get", "gate-method-odd"),  # a Cyrillic letter
        ("crm.deal.get\u200b", "gate-method-odd"),
        ("", "gate-method-odd"),
        ("crm.deal.erase", "gate-method-unknown"),
        ("crm.deal", "gate-method-unknown"),
        ("mongo.insert_one", "gate-method-unknown"),
    ],
)
def test_second_spellings_and_unlisted_methods_are_refused(written: str, code: str) -> None:
    """The gate guesses nothing from a name."""
    assert refusal(written, DELETE) == code


def test_a_misspelt_method_gets_a_suggestion() -> None:
    """The model is told what it may have meant."""
    found = made(effect("crm.deal.updat", {"id": 1}))
    assert found.detail == "crm.deal.updat is not in the catalogue. Did you mean crm.deal.update?"


def test_the_address_method_of_the_model_is_ignored() -> None:
    """`http_method` has no place in an effect, and a parameter of that name is unknown."""
    assert refusal("crm.deal.get", {"id": 1, "http_method": "GET"}) == "gate-param-unknown"


@pytest.mark.parametrize(
    ("method", "params", "sent"),
    [
        ("crm.deal.get", {"ID": "481"}, {"id": 481}),
        ("crm.deal.update", {"Id": " 481 ", "FIELDS": {"title": "x"}}, {"id": 481, "fields": {"TITLE": "x"}}),
        ("tasks.task.get", {"TASKID": "8017"}, {"taskId": 8017}),
        ("crm.item.get", {"ENTITYTYPEID": "2", "ID": "5"}, {"entityTypeId": 2, "id": 5}),
        ("im.notify", {"user_id": 7, "message": "x"}, {"USER_ID": 7, "MESSAGE": "x"}),
        ("crm.deal.list", {"SELECT": ["ID"], "Start": 50}, {"select": ["ID"], "start": 50}),
        ("event.offline.get", {"clear": 1}, {"clear": 0}),
        ("event.offline.get", {}, {"clear": 0}),
    ],
)
def test_top_level_names_and_ids(method: str, params: dict[str, Any], sent: dict[str, Any]) -> None:
    """Names come out in the portal's spelling, ids as numbers, forced parameters as they must be."""
    assert dict(call(method, params).params) == sent


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("crm.deal.get", {}, "gate-param-missing"),
        ("crm.deal.get", {"id": ""}, "gate-param-missing"),
        ("crm.deal.get", {"id": None}, "gate-param-missing"),
        ("crm.deal.get", {"id": 0}, "gate-param-invalid"),
        ("crm.deal.get", {"id": -5}, "gate-param-invalid"),
        ("crm.deal.get", {"id": "0481"}, "gate-param-invalid"),
        ("crm.deal.get", {"id": 1.5}, "gate-param-invalid"),
        ("crm.deal.get", {"id": True}, "gate-param-invalid"),
        ("crm.deal.get", {"id": "4８1"}, "gate-param-invalid"),
        ("crm.deal.get", {"id": [1]}, "gate-param-invalid"),
        ("crm.deal.get", {"id": "$result[a]"}, "gate-param-invalid"),
        ("crm.deal.get", {"id": 1, "ID": 2}, "gate-param-twice"),
        ("crm.deal.get", {"id": 1, "field": {}}, "gate-param-unknown"),
        ("crm.deal.get", {"id": 1, "auth": "x"}, "gate-param-reserved"),
        ("user.add", {"access_token": "x"}, "gate-param-reserved"),
        ("crm.deal.update", {"id": 1}, "gate-param-missing"),
        ("crm.deal.add", {}, "gate-param-missing"),
        ("crm.deal.add", {"fields": {}}, "gate-param-missing"),
        ("crm.deal.add", {"fields": []}, "gate-param-missing"),
        ("crm.deal.update", {"id": 1, "fields": {}}, "gate-param-missing"),
        ("crm.deal.update", {"id": 1, "fields": "x"}, "gate-param-invalid"),
        ("crm.deal.update", {"id": 1, "fields": ["x"]}, "gate-param-invalid"),
        ("crm.deal.update", {"id": 1, "fields": {"OPPORTUNITY": 1, "opportunity": 2}}, "gate-param-twice"),
        ("crm.deal.update", {"id": 1, "fields": {"OPPORTUNITY ": 1}}, "gate-param-invalid"),
        ("crm.deal.update", {"id": 1, "fields": {"": 1}}, "gate-param-invalid"),
        ("crm.deal.update", {"id": 1, "fields": {"a[b]": 1}}, "gate-param-invalid"),
        ("crm.deal.update", {"id": 1, "fields[OPPORTUNITY]": 1}, "gate-param-unknown"),
        ("crm.deal.update", {"id": 1, "fields": {"TITLE": "x"}, "params": {"REGISTER_HISTORY_EVENT": "N"}}, "gate-param-reserved"),
        ("crm.deal.update", {"id": 1, "fields": {"TITLE": "x"}, "params": {"CURRENT_USER": "Y"}}, "gate-param-reserved"),
        ("crm.deal.update", {"id": 1, "fields": {"TITLE": "x", "ID": 2}}, "gate-param-reserved"),
        ("crm.item.update", {"entityTypeId": 2, "id": 1, "fields": {"title": "x", "id": 2}}, "gate-param-reserved"),
        ("tasks.task.update", {"taskId": 1, "fields": {"TITLE": "x", "ID": 2}}, "gate-param-reserved"),
        ("tasks.task.add", {"fields": {"TITLE": "x", "Id": 2}}, "gate-param-reserved"),
        ("crm.deal.update", {"id": 1, "fields": {"TITLE": "x"}, "params": "x"}, "gate-param-invalid"),
        ("crm.deal.update", {"id": 1, "fields": {"OPPORTUNITY": math.nan}}, "gate-params"),
        ("crm.deal.update", {"id": 1, "fields": {"OPPORTUNITY": 2**60}}, "gate-params"),
        ("crm.deal.update", {"id": 1, "fields": {"TITLE": "\x00"}}, "gate-params"),
        ("crm.deal.update", {"id": 1, "fields": {"TITLE": "\ud800"}}, "gate-params"),
        ("crm.item.get", {"entityTypeId": 5, "id": 1}, "gate-param-invalid"),
        ("crm.item.get", {"entityTypeId": "deal2", "id": 1}, "gate-param-invalid"),
        ("crm.item.get", {"entityTypeId": True, "id": 1}, "gate-param-invalid"),
        ("crm.item.get", {"id": 1}, "gate-param-missing"),
        ("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "item", "ENTITY_ID": 1, "COMMENT": "x"}}, "gate-param-invalid"),
        ("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 1}}, "gate-param-missing"),
        ("event.unbind", {"event": "ONCRMDEALADD"}, "gate-param-missing"),
    ],
)
def test_parameters_without_one_reading_are_refused(method: str, params: dict[str, Any], code: str) -> None:
    """Missing, doubled, unknown, reserved, odd: each is named."""
    assert refusal(method, params) == code


def test_deep_nesting_is_refused_and_never_a_crash() -> None:
    """A tower of maps ends in a refusal."""
    tower: dict[str, Any] = {}
    for _ in range(50):
        tower = {"a": tower}
    assert refusal("crm.deal.update", {"id": 1, "fields": tower}) == "gate-params"


def test_options_that_switch_nothing_off_may_stand() -> None:
    """A model that copies the documentation's example is not refused."""
    options = {"REGISTER_SONET_EVENT": "Y", "REGISTER_HISTORY_EVENT": "Y"}
    assert call("crm.deal.update", {"id": 1, "fields": {"TITLE": "x"}, "params": options}).params["params"] == options
    assert call("crm.deal.update", {"id": 1, "fields": {"TITLE": "x"}, "params": {}})


@pytest.mark.parametrize(
    ("method", "fields", "sent"),
    [
        ("crm.deal.update", {"opportunity": 5, "assignedById": 7, "ufCrm1": 1}, {"OPPORTUNITY", "ASSIGNED_BY_ID", "ufCrm1"}),
        ("crm.item.update", {"OPPORTUNITY": 5, "ASSIGNED_BY_ID": 7, "PHONE": []}, {"opportunity", "assignedById", "PHONE"}),
        ("crm.item.update", {"CREATED_BY_ID": 5}, {"createdBy"}),
        ("tasks.task.update", {"responsibleId": 7, "deadline": "x"}, {"RESPONSIBLE_ID", "DEADLINE"}),
        ("crm.lead.update", {"stageId": "NEW"}, {"STATUS_ID"}),
    ],
)
def test_fields_are_sent_in_the_spelling_of_their_family(method: str, fields: dict[str, Any], sent: set[str]) -> None:
    """The portal drops names of the other family without a word, so they are brought home."""
    params = {"id": 5, "taskId": 5, "entityTypeId": 2, "fields": fields}
    spec = catalogue().find(method)
    assert spec is not None
    wanted = {name: value for name, value in params.items() if name in (*spec.required, *spec.target)}
    assert set(call(method, wanted).params["fields"]) == sent


def test_a_lead_read_as_item_keeps_its_stage() -> None:
    """STATUS_ID of a lead is stageId in crm.item.*."""
    sent = call("crm.item.update", {"entityTypeId": 1, "id": 5, "fields": {"STATUS_ID": "NEW"}}).params["fields"]
    assert sent == {"stageId": "NEW"}


@pytest.mark.parametrize(
    ("method", "params", "target"),
    [
        ("crm.deal.get", {"id": 5}, ("deal", 5)),
        ("crm.item.get", {"entityTypeId": 2, "id": 5}, ("deal", 5)),
        ("crm.item.get", {"entityTypeId": 177, "id": 5}, ("item:177", 5)),
        ("crm.item.get", {"entityTypeId": 31, "id": 5}, ("item:31", 5)),
        ("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "DEAL", "ENTITY_ID": "5", "COMMENT": "x"}}, ("deal", 5)),
        ("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "dynamic_177", "ENTITY_ID": 5, "COMMENT": "x"}}, ("item:177", 5)),
        ("crm.activity.todo.add", {"ownerTypeId": 3, "ownerId": 5, "deadline": "x"}, ("contact", 5)),
        ("crm.item.productrow.list", {"filter": {"=ownerType": "D", "=ownerId": 5}}, ("deal", 5)),
        ("crm.item.productrow.list", {"filter": {"=ownerType": "Tb1", "=ownerId": 5}}, ("item:177", 5)),
        ("task.checklistitem.add", {"taskid": 5, "fields": {"TITLE": "x"}}, ("task", 5)),
        ("crm.activity.binding.add", {"activityId": 5, "entityTypeId": 2, "entityId": 1}, ("activity", 5)),
    ],
)
def test_the_record_a_call_is_about(method: str, params: dict[str, Any], target: tuple[str, int]) -> None:
    """One name for one record, whatever the method calls it."""
    assert call(method, params).targets == (target,)


def test_positional_parameters_are_sent_in_their_order() -> None:
    """The task.* family reads by position, so the order of the row holds, also after storing."""
    found = call("task.checklistitem.update", {"FIELDS": {"TITLE": "x"}, "ITEMID": 2, "TASKID": 1})
    assert list(found.params) == ["TASKID", "ITEMID", "FIELDS"]
    stored = loads(dumps(dict(found.params)))
    assert list(stored) != ["TASKID", "ITEMID", "FIELDS"]
    assert list(sort_params(found.spec, stored)) == ["TASKID", "ITEMID", "FIELDS"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("crm.deal.add", {"fields": {"TITLE": "x"}}),
        ("crm.item.add", {"entityTypeId": 2, "fields": {"title": "x"}}),
        ("crm.deal.list", {"filter": {">OPPORTUNITY": 5, "ASSIGNED_BY_ID": [7, 8]}}),
        ("crm.item.list", {"entityTypeId": 2, "filter": {"logic": "OR", "0": {"title": "x"}, "1": {"title": "y"}}}),
        ("tasks.task.add", {"fields": {"TITLE": "x"}}),
        ("batch", {"cmd": {"n": "crm.contact.add?fields[NAME]=A", "d": "crm.deal.add?fields[TITLE]=T&fields[CONTACT_ID]=$result[n]"}}),
        ("batch", {"halt": "true", "cmd": ["crm.deal.list?filter[>ID]=5", "user.current"]}),
    ],
)
def test_normalising_twice_gives_the_same_call(method: str, params: dict[str, Any]) -> None:
    """What comes out may go in again, after storing too, and stays what it is."""
    once = call(method, params, actor=ANNA)
    stored = loads(dumps(dict(once.params)))
    again = made(Effect(method=once.method, params=stored), actor=ANNA)
    assert again.fingerprint == once.fingerprint
    assert again.system_fields >= once.system_fields - {"RESPONSIBLE_ID", "ASSIGNED_BY_ID", "assignedById", "CREATED_BY"}


@pytest.mark.parametrize(("given", "written"), [({}, 7), ({"CREATED_BY": 9}, 9), ({"createdBy": "9"}, "9")])
def test_a_task_is_set_by_the_person_who_asks(given: dict[str, Any], written: object) -> None:
    """Not by the owner of the webhook, whom the portal would write; another one that the call names stays."""
    found = call("tasks.task.add", {"fields": {"TITLE": "x", **given}}, actor=ANNA)
    assert found.written_fields.get("CREATED_BY") == written
    assert ("CREATED_BY" in found.system_fields) is (not given)


@pytest.mark.parametrize(
    ("fields", "classes"),
    [
        ({"TYPE_ID": 2}, ("W",)),
        ({"TYPE_ID": "1"}, ("W",)),
        ({"TYPE_ID": 4}, ("W", "N")),
        ({"TYPE_ID": 4, "DIRECTION": 2, "COMPLETED": "Y"}, ("W", "N")),
        ({"TYPE_ID": 6, "PROVIDER_ID": "CRM_SMS"}, ("W", "N")),
        ({"TYPE_ID": 2, "PROVIDER_ID": "CRM_SMS"}, ("W", "N")),
    ],
)
def test_an_activity_that_is_not_plainly_internal_goes_outward(fields: dict[str, Any], classes: tuple[str, ...]) -> None:
    """A call or a meeting is a note; everything else may reach a customer."""
    found = call("crm.activity.add", {"fields": {"OWNER_ID": 481, "OWNER_TYPE_ID": 2, **fields}})
    assert found.classes == classes


@pytest.mark.parametrize(
    ("kind", "method", "known"),
    [
        ("mongo", "count", True),
        ("mongo", " mongo.count ", True),
        ("mongo", "drop", False),
        ("http", "mongo.count", False),
        ("http", "GET", False),
    ],
)
def test_other_kinds_have_rows_of_their_own(kind: Any, method: str, *, known: bool) -> None:
    """A kind's method is listed or refused."""
    found = made(Effect(kind=kind, method=method, params={"collection": "deals"}))
    assert isinstance(found, Call) is known
    if isinstance(found, Refuse):
        assert found.reason.code == "gate-kind-method"


@pytest.mark.parametrize(
    ("written", "number"), [("2", 2), ("02", 2), (" 2 ", 2), ("deal", 2), ("DEAL", 2), ("D", 2), ("dynamic_177", 177), ("Tb1", 177), (2, 2)]
)
@pytest.mark.parametrize("method", ["crm.item.get", "crm.item.update", "crm.item.list"])
def test_a_kind_of_record_is_sent_as_its_number(method: str, written: object, number: int) -> None:
    """The portal reads the parameter as a number, and would take a word for no kind at all."""
    given = {"entityTypeId": written, "fields": {"title": "x"}} if method == "crm.item.update" else {"entityTypeId": written}
    assert call(method, given if method.endswith("list") else {"id": 5, **given}).params["entityTypeId"] == number


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        (17142.857142857143, 17142.86),
        (132000.00000000001, 132000.0),
        (150000.125, 150000.13),
        (0.5, 0.5),
        ("150000.129", "150000.129"),
        (150000, 150000),
        ("1e9", "1e9"),
    ],
)
@pytest.mark.parametrize(("method", "name"), [("crm.deal.update", "OPPORTUNITY"), ("crm.item.update", "opportunity")])
def test_a_computed_sum_is_shown_and_sent_in_whole_cents(method: str, name: str, written: object, sent: object) -> None:
    """The portal keeps two decimals: a card with more would show another sum than the one that is kept."""
    kind = {"entityTypeId": 2} if method == "crm.item.update" else {}
    found = call(method, {**kind, "id": 5, "fields": {name: written}})
    assert found.params["fields"] == {name: sent}
    assert type(found.params["fields"][name]) is type(sent)


def test_prices_of_product_rows_keep_their_digits() -> None:
    """The portal itself gives them with more than two decimals, and takes them back."""
    rows = [{"PRODUCT_NAME": "Кабель", "PRICE": 33.3333, "QUANTITY": 3}]
    assert call("crm.deal.productrows.set", {"id": 5, "rows": rows}).params["rows"][0]["PRICE"] == 33.3333


def test_the_effect_is_left_as_it_was() -> None:
    """Normalising changes nothing of what the engine handed over."""
    params = {"fields": {"TITLE": "x", "PHONE": [{"VALUE": "1"}]}}
    what = effect("crm.contact.add", params)
    assert isinstance(made(what, actor=ANNA), Call)
    assert params == {"fields": {"TITLE": "x", "PHONE": [{"VALUE": "1"}]}}


def test_a_row_of_the_policy_is_used() -> None:
    """An extra row makes a method known, and `*` lets any parameter through."""
    row = Method(name="x.y", classes=("W",), verb="action", idempotent=False, params=("*",), fields_at="")
    extra = Catalogue([row], catalogue().entities)
    found = normalize(Effect(method="x.y", params={"any": 1}), catalogue=extra, portal=PORTAL, actor=LEAD, effect_id="e")
    assert isinstance(found, Call)
    assert normalize(
        Effect(method="x.y", params={"Any": 1, "any": 2}), catalogue=extra, portal=PORTAL, actor=TOKEN, effect_id="e"
    ).reason.code == (  # type: ignore[union-attr]
        "gate-param-twice"
    )


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        (
            "tasks.task.update",
            {"taskId": 8017, "fields": {"UF_CRM_TASK": ["481"]}},
            "fields.UF_CRM_TASK must be references such as @deal:NAME",
        ),
        (
            "calendar.event.update",
            {"id": 5, "type": "user", "ownerId": 7, "name": "x", "crm_fields": [481]},
            "crm_fields must be references such as",
        ),
        ("crm.activity.update", {"id": 5, "fields": {"OWNER_ID": 481}}, "fields.OWNER_ID must be the number of a record, with its kind"),
    ],
)
def test_a_record_that_something_is_tied_to_is_asked_for_as_it_may_be_written(method: str, params: dict[str, Any], words: str) -> None:
    """One rule for tasks and events; where the kind stands in a parameter of its own, that is said."""
    found = made(effect(method, params))
    assert isinstance(found, Refuse)
    assert words in found.detail
