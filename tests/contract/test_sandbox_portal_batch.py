"""The sandbox portal's batch, request limit and bracket syntax behave as documented."""

from __future__ import annotations

from typing import Any

import pytest
from sandbox_portal_kit import in_process

from sandbox.portal.limits import Bucket
from sandbox.portal.php import parse_query

THREE = {"a": "user.current", "b": "crm.deal.get?id=999999", "c": "crm.lead.list?filter[ID]=0"}


@pytest.mark.parametrize("halt", [0, False, "0"])
async def test_without_halt_all_commands_run(halt: Any) -> None:
    """Errors and results lie side by side under their keys; empty maps are lists (vector 28)."""
    async with in_process() as portal:
        answer = await portal.send("batch", {"halt": halt, "cmd": THREE})
        report = answer.json()["result"]
        assert answer.status_code == 200
        assert (set(report["result"]), report["result"]["c"]) == ({"a", "c"}, [])
        assert report["result_error"] == {"b": {"error": "", "error_description": "Not found"}}
        assert (report["result_total"], report["result_next"]) == ({"c": 0}, [])
        outer, *inner = await portal.ledger()
        assert [(row["key"], row["outcome"], row["batch"]) for row in inner] == [
            ("a", "ok", outer["seq"]),
            ("b", "", outer["seq"]),
            ("c", "ok", outer["seq"]),
        ]


async def test_halt_stops_at_the_first_error() -> None:
    """Later keys are nowhere (vector 29)."""
    async with in_process() as portal:
        report = await portal.result("batch", {"halt": 1, "cmd": THREE})
        assert [list(report[name]) for name in ("result", "result_error", "result_total")] == [["a"], ["b"], []]


async def test_a_list_of_commands_is_answered_with_lists() -> None:
    """Numeric keys come back as JSON lists (vector 30)."""
    async with in_process() as portal:
        report = await portal.result("batch", {"cmd": ["server.time", "server.time"]})
        assert report["result"] == ["2026-11-21T21:00:00+03:00"] * 2
        assert report["result_error"] == []


async def test_a_result_feeds_a_later_command() -> None:
    """`$result[n]` links the deal to the new contact; values are decoded once (vector 31)."""
    async with in_process() as portal:
        add_contact = "crm.contact.add?fields[NAME]=A%26B"
        add_deal = "crm.deal.add?fields[TITLE]=T&fields[CONTACT_ID]=$result[n]&fields[COMMENTS]=for $result[n]"
        report = await portal.result("batch", {"cmd": {"n": add_contact, "d": add_deal}})
        contact, deal = report["result"]["n"], report["result"]["d"]
        shown = await portal.result("crm.deal.get", {"id": deal})
        assert (shown["CONTACT_ID"], shown["COMMENTS"]) == (str(contact), f"for {contact}")
        assert (await portal.result("crm.contact.get", {"id": contact}))["NAME"] == "A&B"
        lost = await portal.result("batch", {"cmd": {"x": "crm.deal.get?id=$result[none][0]"}})
        assert lost["result_error"]["x"]["error_description"] == "ID is not defined or invalid."


async def test_too_many_and_nested_commands_fail_alone() -> None:
    """The 51st command and a batch inside fail under their keys, the others run (vector 32)."""
    async with in_process() as portal:
        many = {f"k{i}": "server.time" for i in range(51)}
        report = await portal.result("batch", {"cmd": many})
        assert len(report["result"]) == 50
        assert report["result_error"]["k50"]["error"] == "ERROR_BATCH_LENGTH_EXCEEDED"
        nested = await portal.result("batch", {"cmd": {"in": "batch?cmd[a]=server.time", "ok": "server.time"}})
        assert nested["result_error"]["in"]["error"] == "ERROR_BATCH_METHOD_NOT_ALLOWED"
        assert list(nested["result"]) == ["ok"]


async def test_a_form_batch_is_encoded_twice() -> None:
    """In a form body the whole command is encoded again."""
    async with in_process() as portal:
        form = {"cmd[n]": "crm.contact.add?fields[NAME]=A%26B"}
        body = (await portal.http.post("/rest/1/sandbox/batch", data=form)).json()
        contact = await portal.result("crm.contact.get", {"id": body["result"]["result"]["n"]})
        assert contact["NAME"] == "A&B"


async def test_a_cut_inside_a_batch_keeps_the_prefix() -> None:
    """The commands before the cut stay committed, the rest never runs; nothing is rolled back."""
    async with in_process() as portal:
        await portal.arm(kind="commit_then_drop", method="crm.deal.add", after_calls=1)
        commands = [f"crm.deal.add?fields[TITLE]=Cut {i}" for i in range(4)]
        with pytest.raises(Exception, match="Server disconnected"):
            await portal.send("batch", {"cmd": commands})
        deals = await portal.call("crm.deal.list", {"filter": {"%TITLE": "Cut"}})
        assert deals["total"] == 2
        assert (await portal.ledger("batch"))[0]["outcome"] == "dropped"


async def test_the_bucket_refuses_after_fifty_and_drains() -> None:
    """With 2 a second and 50, quick calls end in 503; one more passes after a second (vector 33)."""
    async with in_process(bucket=Bucket(2.0, 50)) as portal:
        answers = [await portal.send("server.time") for _ in range(60)]
        assert [a.status_code for a in answers] == [200] * 50 + [503] * 10
        assert answers[-1].json() == {"error": "QUERY_LIMIT_EXCEEDED", "error_description": "Too many requests"}
        assert portal.clock is not None
        portal.clock.move(seconds=1)
        assert (await portal.send("batch", {"cmd": ["server.time"] * 50})).status_code == 200


async def test_a_spent_method_waits_and_the_others_answer() -> None:
    """The call that crosses the time budget ends well, the next is 429 until the window is over."""
    async with in_process(operating_limit=0.15) as portal:
        await portal.arm(kind="delay", method="crm.item.list", seconds=0.16)
        params = {"entityTypeId": 2}
        assert (await portal.send("crm.item.list", params)).status_code == 200
        refused = await portal.send("crm.item.list", params)
        assert (refused.status_code, refused.json()["error"]) == (429, "OPERATION_TIME_LIMIT")
        assert (await portal.send("crm.deal.get", {"id": 410})).status_code == 200
        assert portal.clock is not None
        portal.clock.move(minutes=10)
        assert (await portal.send("crm.item.list", params)).status_code == 200


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
