"""The sandbox portal's batch beyond the numbered vectors, and the bracket syntax of its parameters."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.portal.php import parse_query
from tests.contract.sandbox_portal_kit import Caller


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
