"""A batch is read as PHP reads it, judged command by command, and rebuilt from what was judged."""

from dataclasses import replace
from typing import Any

import pytest

from bitrix.client.batch import parse_commands
from orchestrator.gate.call.params import Refusal
from orchestrator.gate.normalize.batch import build_batch
from tests.unit.gate.gate_kit import ANNA, LEAD, call, refusal


@pytest.mark.req("S004-24", "S004-25", "S004-69")
def test_a_batch_is_taken_apart_and_rebuilt() -> None:
    """What is sent says exactly what the commands say."""
    found = call("batch", {"halt": "1", "cmd": {"a": "CRM.Deal.Get?ID=481", "b": "crm.deal.list?filter%5B%3EID%5D=5"}})
    assert [(command.key, command.method, dict(command.params)) for command in found.commands] == [
        ("a", "crm.deal.get", {"id": 481}),
        ("b", "crm.deal.list", {"filter": {">ID": "5"}}),
    ]
    assert found.params["halt"] == 1
    sent = parse_commands(found.params["cmd"])
    assert [(command.key, command.method) for command in sent] == [("a", "crm.deal.get"), ("b", "crm.deal.list")]
    assert found.classes == ("R",)


@pytest.mark.req("S004-27", "S004-69", "S004-X11")
@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "gate-param-missing"),
        ({"cmd": {}}, "gate-param-missing"),
        ({"cmd": []}, "gate-param-missing"),
        ({"cmd": "crm.deal.get?id=1"}, "gate-batch-broken"),
        ({"cmd": {"a": {"method": "crm.deal.get"}}}, "gate-batch-broken"),
        ({"cmd": {"a": "batch?cmd[x]=crm.deal.delete%3Fid%3D1"}}, "gate-batch-broken"),
        ({"cmd": {"a": "BATCH"}}, "gate-batch-broken"),
        ({"cmd": {"a": "batch.json?cmd[x]=y"}}, "gate-batch-broken"),
        ({"cmd": {"a": "GET crm.deal.get?id=1"}}, "gate-batch-broken"),
        ({"cmd": {"a": "crm.deal.delete.json?id=1"}}, "gate-batch-broken"),
        ({"cmd": {"a": "/crm.deal.delete?id=1"}}, "gate-batch-broken"),
        ({"cmd": {"a": "https://x/rest/crm.deal.get"}}, "gate-batch-broken"),
        ({"cmd": {"a": "crm.deal.get?id[=1"}}, "gate-batch-broken"),
        ({"cmd": {"a b": "user.current"}}, "gate-batch-broken"),
        ({"cmd": {f"k{number}": "user.current" for number in range(51)}}, "gate-batch-broken"),
        ({"cmd": {"a": "crm.deal.erase?id=1"}}, "gate-method-unknown"),
        ({"cmd": {"a": "crm.deal.get"}}, "gate-param-missing"),
        ({"cmd": {"a": "crm.deal.get?id=x"}}, "gate-param-invalid"),
        ({"cmd": {"a": "crm.deal.get?id=1&ID=2"}}, "gate-param-twice"),
        ({"cmd": {"a": "crm.deal.get?id=1&auth=x"}}, "gate-param-reserved"),
        ({"cmd": {"a": "user.current"}, "halt": "maybe"}, "gate-param-invalid"),
        ({"cmd": {"a": "user.current"}, "cmd[x]": "crm.deal.delete?id=1"}, "gate-param-unknown"),
        ({"cmd": {"a": "user.current"}, "CMD": {"x": "crm.deal.delete?id=1"}}, "gate-param-twice"),
        ({"cmd": {"a": "crm.deal.get?id=$result[b]"}}, "gate-reference"),
        ({"cmd": {"a": "crm.deal.get?id=$result[a]"}}, "gate-reference"),
        ({"cmd": {"a": "user.current", "b": "crm.deal.get?id=$result"}}, "gate-param-invalid"),
        ({"cmd": {"a": "user.current", "b": "crm.deal.get?id=$result[a"}}, "gate-reference"),
        ({"cmd": {"a": "user.current", "b": "crm.deal.update?id=1&fields[TITLE]=$result[z]"}}, "gate-reference"),
        ({"cmd": {"a": "user.current", "b": "crm.deal.list?filter[$result[a]]=1"}}, "gate-batch-broken"),
        ({"cmd": {"a": "user.current", "b": "crm.deal.list?filter[$result%5Ba]=1"}}, "gate-batch-broken"),
        ({"cmd": {"a": "user.current", "b": "crm.deal.list?filter[%2524result%255Ba%255D]=1"}}, "gate-reference"),
    ],
)
def test_a_batch_without_one_reading_is_refused(params: dict[str, Any], code: str) -> None:
    """Nested, too long, odd, or pointing nowhere: never sent."""
    assert refusal("batch", params) == code


def test_fifty_commands_are_the_most() -> None:
    """Fifty pass."""
    assert len(call("batch", {"cmd": {f"k{number:02}": "user.current" for number in range(50)}}).commands) == 50


@pytest.mark.parametrize(("written", "sent"), [(None, 0), (0, 0), ("false", 0), (False, 0), (True, 1), ("Y", 1), (1, 1)])
def test_the_halt_switch(written: Any, sent: int) -> None:
    """Yes and no in the forms people use."""
    assert call("batch", {"halt": written, "cmd": {"a": "user.current"}}).params["halt"] == sent


def test_a_semicolon_and_a_last_duplicate_mean_what_php_says() -> None:
    """`;` separates nothing, the last of two equal names wins."""
    found = call("batch", {"cmd": {"a": "crm.deal.update?id=481&fields[TITLE]=a;id=5&fields[TITLE]=b;c"}})
    assert found.commands[0].params == {"id": 481, "fields": {"TITLE": "b;c"}}


def test_references_lead_to_earlier_commands_and_stop_the_batch() -> None:
    """A command that needs an answer never runs without it."""
    cmd = {"a": "crm.contact.add?fields[NAME]=A%26B", "b": "crm.deal.add?fields[TITLE]=T&fields[CONTACT_ID]=$result[a]"}
    found = call("batch", {"cmd": cmd})
    assert found.commands[0].params["fields"]["NAME"] == "A&B"
    assert found.commands[1].references == ("fields.CONTACT_ID",)
    assert found.halt
    assert found.params["halt"] == 1


@pytest.mark.parametrize(
    ("command", "created"),
    [
        ("fields[ENTITY_ID]=$result[a]", True),
        ("fields[ENTITY_ID]=$result[a][ID]", False),
        ("fields[ENTITY_ID]=5$result[a]", False),
        ("fields[ENTITY_ID]=$result[b]", False),
    ],
)
def test_a_record_made_by_the_same_batch_is_known_as_such(command: str, *, created: bool) -> None:
    """Only the new number in the answer of an earlier add counts."""
    comment = f"crm.timeline.comment.add?fields[ENTITY_TYPE]=deal&fields[COMMENT]=x&{command}"
    found = call("batch", {"cmd": {"a": "crm.deal.add?fields[TITLE]=T", "b": "user.current", "c": comment}})
    assert found.commands[2].target_created is created
    assert found.unknown_target


def test_keys_out_of_order_are_numbered_so_that_sorting_keeps_the_order() -> None:
    """Stored JSON sorts its keys; the contact still comes before the deal, and the commands have the keys that were written."""
    cmd = {"n": "crm.contact.add?fields[NAME]=A", "d": "crm.deal.add?fields[TITLE]=$result[n]&fields[CONTACT_IDS][]=$result[n]"}
    found = call("batch", {"cmd": cmd})
    assert [command.key for command in found.commands] == ["n", "d"]
    assert found.commands[1].params["fields"]["TITLE"] == "$result[n]"
    assert found.commands[1].params["fields"]["CONTACT_IDS"] == ["$result[n]"]
    assert list(found.params["cmd"]) == ["n00--n", "n01--d"]
    assert call("batch", dict(found.params)).fingerprint == found.fingerprint
    assert list(found.params["cmd"]) == sorted(found.params["cmd"])


def test_the_order_of_execution_is_part_of_the_fingerprint() -> None:
    """Two batches with the same commands in another order are two calls."""
    first, second = "crm.deal.update?id=481&fields[TITLE]=a", "crm.deal.update?id=481&fields[TITLE]=b"
    assert call("batch", {"cmd": {"a": first, "b": second}}).fingerprint != call("batch", {"cmd": {"b": second, "a": first}}).fingerprint


def test_a_batch_has_the_classes_and_records_of_its_commands() -> None:
    """Their union, each once."""
    found = call(
        "batch",
        {"cmd": {"a": "crm.deal.get?id=481", "b": "crm.deal.update?id=481&fields[TITLE]=x", "c": "crm.deal.delete?id=500"}},
        actor=LEAD,
    )
    assert found.classes == ("R", "W", "D")
    assert found.targets == (("deal", 481), ("deal", 500))
    assert not found.reads_only
    assert set(found.entities) == {"deal"}


def test_a_reference_under_a_dotted_name_is_checked_too() -> None:
    """A filter over a linked record cannot hide where its value comes from."""
    assert refusal("batch", {"cmd": {"a": "user.current", "b": "crm.deal.list?filter[contact.ID]=$result[z]"}}) == "gate-reference"
    found = call("batch", {"cmd": {"a": "user.current", "b": "crm.deal.list?filter[contact.ID]=$result[a][ID]"}})
    assert found.commands[1].references == ("filter.contact.ID",)


def test_a_command_that_cannot_be_written_is_refused() -> None:
    """The last look before sending: a name that PHP would change."""
    odd = replace(call("crm.deal.list"), key="a", params={"filter[x": 1})
    with pytest.raises(Refusal) as caught:
        build_batch(odd.spec, (odd,), halt=False, portal="p")
    assert caught.value.verdict.reason.code == "gate-batch-broken"


def test_a_value_a_query_cannot_carry_is_refused() -> None:
    """What PHP would change on the way is never written."""
    assert refusal("batch", {"cmd": {"a": "crm.deal.update?id=481&fields[TITLE]=%FF"}}, actor=ANNA) == "gate-batch-broken"
