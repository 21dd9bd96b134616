"""What the gate adds: origin marks, the responsible person, the limits of a list."""

from typing import Any

import pytest

from tests.unit.gate.gate_kit import ANNA, LEAD, LOST, TEAM, TOKEN, call, refusal

MARKS = {"ORIGINATOR_ID": "sdelka", "ORIGIN_ID": "e1"}


@pytest.mark.parametrize("entity", ["deal", "lead", "contact", "company"])
def test_new_records_carry_our_mark_and_the_speaker(entity: str) -> None:
    """A lost answer can be found again, and the record is the speaker's."""
    found = call(f"crm.{entity}.add", {"fields": {"TITLE": "x"}}, actor=ANNA)
    assert found.params["fields"] == {"TITLE": "x", "ASSIGNED_BY_ID": 7, **MARKS}
    assert found.system_fields == {"ASSIGNED_BY_ID", *MARKS}


def test_the_universal_family_has_its_own_spelling() -> None:
    """crm.item.add is marked in camelCase; a smart process has no such fields."""
    params: dict[str, Any] = {"entityTypeId": 2, "fields": {"title": "x"}}
    assert call("crm.item.add", params, actor=ANNA).params["fields"] == {
        "title": "x", "assignedById": 7, "originatorId": "sdelka", "originId": "e1",
    }  # fmt: skip
    smart = call("crm.item.add", {**params, "entityTypeId": 177}, actor=ANNA)
    assert smart.params["fields"] == {"title": "x", "assignedById": 7}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("crm.deal.add", {"fields": {"ORIGIN_ID": "fake"}}),
        ("crm.deal.add", {"fields": {"originatorId": "sdelka2"}}),
        ("crm.deal.update", {"id": 481, "fields": {"ORIGIN_ID": "fake"}}),
        ("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"originId": "fake"}}),
        ("crm.contact.update", {"id": 43, "fields": {"ORIGIN_VERSION": "1"}}),
    ],
)
def test_a_mark_of_somebody_else_is_refused(method: str, params: dict[str, Any]) -> None:
    """Only the gate says where a record comes from."""
    assert refusal(method, params) == "gate-origin"


@pytest.mark.parametrize("empty", ["", None, 0, "0"])
def test_an_empty_responsible_person_is_the_speaker(empty: Any) -> None:
    """Naming nobody is the same as not naming anybody."""
    assert call("crm.deal.add", {"fields": {"assignedById": empty}}, actor=ANNA).params["fields"]["ASSIGNED_BY_ID"] == 7


def test_a_named_person_stays() -> None:
    """Whoever is named is not replaced, and is not called system-set."""
    found = call("crm.deal.add", {"fields": {"ASSIGNED_BY_ID": 8}}, actor=ANNA)
    assert found.params["fields"]["ASSIGNED_BY_ID"] == 8
    assert "ASSIGNED_BY_ID" not in found.system_fields


def test_without_a_speaker_the_portal_decides_or_the_task_is_refused() -> None:
    """A token has no Bitrix24 user: a deal goes to the portal's default, a task needs a name."""
    assert call("crm.deal.add", {"fields": {"TITLE": "x"}}, actor=TOKEN).params["fields"] == {"TITLE": "x", **MARKS}
    assert refusal("tasks.task.add", {"fields": {"TITLE": "x"}}, actor=TOKEN) == "gate-responsible"
    assert refusal("tasks.task.add", {"fields": {"RESPONSIBLE_ID": 7}}, actor=TOKEN) == "gate-param-missing"


def test_a_to_do_is_the_speakers_too() -> None:
    """Its fields lie at the top level."""
    params = {"ownerTypeId": 2, "ownerId": 481, "deadline": "2026-12-01T10:00:00+03:00"}
    assert call("crm.activity.todo.add", params, actor=ANNA).params["responsibleId"] == 7
    assert call("crm.activity.todo.add", {**params, "responsibleId": 8}, actor=ANNA).params["responsibleId"] == 8


def test_each_command_of_a_batch_has_its_own_mark() -> None:
    """The command's key stands in the mark."""
    found = call("batch", {"cmd": {"a": "crm.deal.add?fields[TITLE]=x"}}, actor=ANNA)
    assert found.params["cmd"]["a"].endswith("fields[ORIGINATOR_ID]=sdelka&fields[ORIGIN_ID]=e1%3Aa")
    assert found.commands[0].params["fields"]["ASSIGNED_BY_ID"] == 7


LISTS: list[tuple[str, dict[str, Any], str]] = [
    ("crm.deal.list", {}, "ASSIGNED_BY_ID"),
    ("crm.lead.list", {}, "ASSIGNED_BY_ID"),
    ("crm.contact.list", {}, "ASSIGNED_BY_ID"),
    ("crm.company.list", {}, "ASSIGNED_BY_ID"),
    ("crm.activity.list", {}, "RESPONSIBLE_ID"),
    ("tasks.task.list", {}, "RESPONSIBLE_ID"),
    ("crm.item.list", {"entityTypeId": 2}, "assignedById"),
]


@pytest.mark.parametrize(("method", "params", "field"), LISTS)
def test_a_list_shows_a_manager_only_what_is_theirs(method: str, params: dict[str, Any], field: str) -> None:
    """The responsible filter is set by code, and a lead of all sees all."""
    found = call(method, params, actor=ANNA)
    assert found.params["filter"] == {field: 7}
    assert f"filter.{field}" in found.system_fields
    assert "filter" not in call(method, params, actor=LEAD).params


@pytest.mark.parametrize(("method", "params", "field"), LISTS)
def test_a_team_lead_sees_the_team(method: str, params: dict[str, Any], field: str) -> None:
    """Several people become a list, in the form the method knows."""
    key = field if method == "tasks.task.list" else f"@{field}"
    assert call(method, params, actor=TEAM).params["filter"] == {key: [6, 7, 8]}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ([], {"ASSIGNED_BY_ID": 7}),
        ("", {"ASSIGNED_BY_ID": 7}),
        (None, {"ASSIGNED_BY_ID": 7}),
        ({"%TITLE": "х"}, {"%TITLE": "х", "ASSIGNED_BY_ID": 7}),
        ({"=assignedById": "7"}, {"ASSIGNED_BY_ID": 7}),
        ({"@ASSIGNED_BY_ID": [7, 8]}, {"ASSIGNED_BY_ID": 7}),
        ({"@ASSIGNED_BY_ID": {"0": "8", "1": "7"}}, {"ASSIGNED_BY_ID": 7}),
        ({"!ASSIGNED_BY_ID": 7}, {"!ASSIGNED_BY_ID": 7, "ASSIGNED_BY_ID": 7}),
        ({">ASSIGNED_BY_ID": 0, "assigned_by_id": 7}, {">ASSIGNED_BY_ID": 0, "ASSIGNED_BY_ID": 7}),
        ({"!@ASSIGNED_BY_ID": [7]}, {"!@ASSIGNED_BY_ID": [7], "ASSIGNED_BY_ID": 7}),
        ({"contact.NAME": "x", "UF_CRM_1": 1}, {"contact.NAME": "x", "UF_CRM_1": 1, "ASSIGNED_BY_ID": 7}),
    ],
)
def test_a_model_filter_can_only_narrow(given: Any, sent: dict[str, Any]) -> None:
    """Whatever prefix and case the model uses, the speaker's limit stands beside it."""
    assert call("crm.deal.list", {"filter": given}, actor=ANNA).params["filter"] == sent


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"ASSIGNED_BY_ID": 8}, "gate-filter-foreign"),
        ({"=assigned_by_id": "8"}, "gate-filter-foreign"),
        ({"@ASSIGNED_BY_ID": [8, 9]}, "gate-filter-foreign"),
        ({"ASSIGNED_BY_ID": ""}, "gate-filter-foreign"),
        ({"ASSIGNED_BY_ID": 7, "@assignedById": [8]}, "gate-filter-foreign"),
        ("abc", "gate-param-invalid"),
        (["x"], "gate-param-invalid"),
        ({"logic": "OR", "TITLE": "x"}, "gate-filter-unclear"),
        ({"LOGIC": "OR"}, "gate-filter-unclear"),
        ({"0": {"logic": "OR"}}, "gate-filter-unclear"),
        ({"::LOGIC": "OR"}, "gate-filter-unclear"),
        ({"::SUBFILTER-1": {}}, "gate-filter-unclear"),
        ({"CHECK_PERMISSIONS": "N"}, "gate-filter-unclear"),
        ({"=CHECK_PERMISSIONS": "N"}, "gate-filter-unclear"),
        ({"__INNER_FILTER": {}}, "gate-filter-unclear"),
        ({"ASSIGNED_BY_ID ": 8}, "gate-filter-unclear"),
        ({"": 8}, "gate-filter-unclear"),
    ],
)
def test_a_filter_for_other_people_or_with_a_trick_is_refused(given: Any, code: str) -> None:
    """The model learns why, instead of «nothing found»."""
    assert refusal("crm.deal.list", {"filter": given}, actor=ANNA) == code


@pytest.mark.parametrize(
    "given",
    [
        {"logic": "OR", "0": {"assignedById": 8}, "1": {">id": 0}},
        {"LOGIC": "OR", "assignedById": 8, ">id": 0},
        {"0": {"logic": "OR", "0": {"assignedById": 8}, "1": {">id": 0}}},
        [{"logic": "OR", "0": {"assignedById": 8}}],
        {"0": [{"assignedById": 8}, "x"]},
    ],
)
def test_a_group_joined_by_or_cannot_widen_a_universal_list(given: Any) -> None:
    """The speaker's limit stands at the top, joined by AND with the whole of what the model wrote."""
    sent = call("crm.item.list", {"entityTypeId": 2, "filter": given}, actor=ANNA).params["filter"]
    assert sent["assignedById"] == 7
    assert not any(name.lower() == "logic" for name in sent)


@pytest.mark.parametrize("given", [{"0": {"CHECK_PERMISSIONS": "N"}}, {"0": [{"::LOGIC": "OR"}]}, {"=logic": "OR"}, [{"a b": 1}]])
def test_tricks_inside_a_group_are_refused(given: Any) -> None:
    """Odd names are found at every depth."""
    assert refusal("crm.item.list", {"entityTypeId": 2, "filter": given}, actor=ANNA) == "gate-filter-unclear"


def test_in_a_batch_the_limit_is_part_of_the_command() -> None:
    """A list inside a batch is limited as well, and a foreign one is refused."""
    assert "filter[ASSIGNED_BY_ID]=7" in call("batch", {"cmd": {"a": "crm.deal.list?select[]=ID"}}, actor=ANNA).params["cmd"]["a"]
    assert refusal("batch", {"cmd": {"a": "crm.deal.list?filter[ASSIGNED_BY_ID]=8"}}, actor=ANNA) == "gate-filter-foreign"
    group = "crm.item.list?entityTypeId=2&filter[0][logic]=OR&filter[0][0][assignedById]=8&filter[0][1][>id]=0"
    assert call("batch", {"cmd": {"a": group}}, actor=ANNA).commands[0].params["filter"]["assignedById"] == 7


@pytest.mark.parametrize("trick", [{"logic": "OR"}, {"LOGIC": "OR"}, {"0": {"OWNER_ID": 500}}])
def test_a_list_of_one_record_cannot_be_widened(trick: dict[str, Any]) -> None:
    """Where the filter names the record whose owner is checked, OR has no place."""
    params = {"entityTypeId": 2, "filter": {"OWNER_ID": 481, "@OWNER_ID": [500], **trick}}
    assert refusal("crm.stagehistory.list", params, actor=ANNA) == "gate-filter-unclear"
    assert call("crm.stagehistory.list", params, actor=LEAD).targets == (("deal", 481),)


def test_a_person_without_a_bitrix_user_sees_an_empty_list_of_people() -> None:
    """Nobody's records: the filter cannot be satisfied, and the decision refuses anyway."""
    assert refusal("crm.deal.list", {}, actor=LOST) == "gate-filter-foreign"
