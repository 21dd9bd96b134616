"""The documented test vectors of batch and limits, by number: 28-34; and the batch beyond them, with the brackets of its parameters."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.portal.limits import Bucket
from sandbox.portal.php import parse_query
from tests.contract.sandbox_portal_kit import Caller, in_process

THREE = {"a": "user.current", "b": "crm.deal.get?id=999999", "c": "crm.lead.list?filter[ID]=0"}
NOT_FOUND = {"error": "", "error_description": "Not found"}


@pytest.mark.parametrize("halt", [0, False, "0"])
async def test_vector_28_without_halt_all_commands_run(portal: Caller, halt: Any) -> None:
    """Errors and results lie side by side under their keys with 200; empty maps are lists."""
    answer = await portal.send("batch", {"halt": halt, "cmd": THREE})
    report = answer.json()["result"]
    assert (answer.status_code, set(report["result"]), report["result"]["c"]) == (200, {"a", "c"}, [])
    assert report["result_error"] == {"b": NOT_FOUND}
    assert (report["result_total"], report["result_next"]) == ({"c": 0}, [])
    assert set(report["result_time"]) == {"a", "c"}
    outer, *inner = await portal.ledger()
    assert [(row["key"], row["outcome"], row["batch"]) for row in inner] == [
        ("a", "ok", outer["seq"]),
        ("b", "", outer["seq"]),
        ("c", "ok", outer["seq"]),
    ]


@pytest.mark.parametrize("halt", [1, True, "1"])
async def test_vector_29_halt_stops_at_the_first_error(portal: Caller, halt: Any) -> None:
    """Only `a` has a result, only `b` an error, `c` is nowhere and never ran."""
    report = await portal.result("batch", {"halt": halt, "cmd": THREE})
    assert (list(report["result"]), report["result_error"]) == (["a"], {"b": NOT_FOUND})
    assert (report["result_total"], report["result_next"], list(report["result_time"])) == ([], [], ["a"])
    assert [row["key"] for row in (await portal.ledger())[1:]] == ["a", "b"]


async def test_vector_30_a_list_of_commands_is_answered_with_lists(portal: Caller) -> None:
    """Numeric keys come back as a JSON list, no errors as an empty one."""
    report = await portal.result("batch", {"cmd": ["server.time", "server.time"]})
    assert report["result"] == ["2026-11-21T21:00:00+03:00"] * 2
    assert report["result_error"] == []


async def test_vector_31_a_result_feeds_a_later_command(portal: Caller) -> None:
    """`$result[n]` links the deal to the new contact; a value is decoded once."""
    add_deal = "crm.deal.add?fields[TITLE]=T&fields[CONTACT_ID]=$result[n]"
    report = await portal.result("batch", {"cmd": {"n": "crm.contact.add?fields[NAME]=A%26B", "d": add_deal}})
    contact, deal = report["result"]["n"], report["result"]["d"]
    assert (await portal.result("crm.deal.get", {"id": deal}))["CONTACT_ID"] == str(contact)
    assert (await portal.result("crm.contact.get", {"id": contact}))["NAME"] == "A&B"


async def test_vector_32_too_many_and_nested_commands_fail_alone(portal: Caller) -> None:
    """The 51st command and a batch inside fail under their keys, the others run."""
    report = await portal.result("batch", {"cmd": {f"k{i}": "server.time" for i in range(51)}})
    assert list(report["result"]) == [f"k{i}" for i in range(50)]
    assert {key: error["error"] for key, error in report["result_error"].items()} == {"k50": "ERROR_BATCH_LENGTH_EXCEEDED"}
    nested = await portal.result("batch", {"cmd": {"in": "batch?cmd[a]=server.time", "ok": "server.time"}})
    assert nested["result_error"]["in"]["error"] == "ERROR_BATCH_METHOD_NOT_ALLOWED"
    assert list(nested["result"]) == ["ok"]


async def test_vector_33_the_bucket_refuses_after_fifty_and_drains() -> None:
    """With 2 a second and 50, quick calls end in 503; a second later one more passes, and a full batch is one request."""
    async with in_process(bucket=Bucket(2.0, 50)) as portal:
        answers = [await portal.send("server.time") for _ in range(60)]
        assert [a.status_code for a in answers] == [200] * 50 + [503] * 10
        assert answers[-1].json() == {"error": "QUERY_LIMIT_EXCEEDED", "error_description": "Too many requests"}
        assert portal.clock is not None
        portal.clock.move(seconds=1)
        batches = [await portal.send("batch", {"cmd": ["server.time"] * 50}) for _ in range(3)]
        assert [a.status_code for a in batches] == [200, 200, 503]


async def test_vector_34_a_spent_method_waits_and_the_others_answer(portal: Caller) -> None:
    """The crossing call is answered, the next is 429 though others answer, and it is free again after operating_reset_at."""
    await portal.http.post("/sandbox/limits", json={"cost": {"crm.item.list": 481}})
    crossing = await portal.send("crm.item.list", {"entityTypeId": 2})
    spent = crossing.json()["time"]
    assert (crossing.status_code, spent["operating"] > 480) == (200, True)
    refused = await portal.send("crm.item.list", {"entityTypeId": 2})
    assert (refused.status_code, refused.json()["error"]) == (429, "OPERATION_TIME_LIMIT")
    assert (await portal.send("crm.deal.get", {"id": 410})).status_code == 200
    assert portal.clock is not None
    portal.clock.move(seconds=spent["operating_reset_at"] - portal.clock().timestamp() - 1)
    assert (await portal.send("crm.item.list", {"entityTypeId": 2})).status_code == 429
    portal.clock.move(seconds=1)
    assert (await portal.send("crm.item.list", {"entityTypeId": 2})).status_code == 200


async def test_a_reference_may_stand_in_a_text_and_to_nothing_is_empty(portal: Caller) -> None:
    """Inside a text the result is put in as text, rows of a list are found by number, an unknown key gives an empty string."""
    commands = {
        "l": "crm.deal.list?filter[>ID]=409&order[ID]=ASC&start=-1",
        "g": "crm.deal.get?id=$result[l][1][ID]",
        "c": "crm.deal.add?fields[TITLE]=after $result[l][0][ID]$result[l][99][ID]",
        "x": "crm.deal.get?id=$result[none][0]",
    }
    report = await portal.result("batch", {"cmd": commands})
    assert (report["result"]["l"][0]["ID"], report["result"]["g"]["ID"]) == ("410", "411")
    assert (await portal.result("crm.deal.get", {"id": report["result"]["c"]}))["TITLE"] == "after 410"
    assert report["result_error"]["x"]["error_description"] == "ID is not defined or invalid."


async def test_a_form_batch_is_encoded_twice(portal: Caller) -> None:
    """In a form body the whole command is encoded again."""
    form = {"cmd[n]": "crm.contact.add?fields[NAME]=A%26B"}
    body = (await portal.http.post("/rest/1/sandbox/batch", data=form)).json()
    contact = await portal.result("crm.contact.get", {"id": body["result"]["result"]["n"]})
    assert contact["NAME"] == "A&B"


async def test_a_cut_inside_a_batch_keeps_the_prefix(portal: Caller) -> None:
    """The commands before the cut stay committed, the rest never runs; nothing is rolled back."""
    await portal.arm(kind="commit_then_drop", method="crm.deal.add", after_calls=1)
    commands = [f"crm.deal.add?fields[TITLE]=Cut {i}" for i in range(4)]
    with pytest.raises(Exception, match="Server disconnected"):
        await portal.send("batch", {"cmd": commands})
    deals = await portal.call("crm.deal.list", {"filter": {"%TITLE": "Cut"}})
    assert deals["total"] == 2
    assert (await portal.ledger("batch"))[0]["outcome"] == "dropped"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a=1&a=2", {"a": "2"}),
        ("a[]=1&a[]=2", {"a": ["1", "2"]}),
        ("a[0]=1&a[1]=2", {"a": ["1", "2"]}),
        ("a[5]=1&a[]=2", {"a": {"5": "1", "6": "2"}}),
        ("a[b][c]=1+2&a%5Bb%5D%5Bd%5D=%2B", {"a": {"b": {"c": "1 2", "d": "+"}}}),
        ("a=1&a[b]=2", {"a": {"b": "2"}}),
        ("a[b]=1&a=2", {"a": "2"}),
        ("a[b]c[d]=1", {"a": {"b": "1"}}),
        ("a[b=1", {"a_b": "1"}),
        ("a.b c=1", {"a_b_c": "1"}),
        ("=1&&a", {"a": ""}),
        ("a=1;b=2", {"a": "1;b=2"}),
        ("a[01]=x", {"a": {"01": "x"}}),
    ],
)
def test_brackets_are_read_as_php_reads_them(query: str, expected: Any) -> None:
    """Odd names nest, overwrite and number as in PHP."""
    assert parse_query(query) == expected
