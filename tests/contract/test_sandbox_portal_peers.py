"""Two public clients of Bitrix24, fast_bitrix24 and b24pysdk, run their own calls against the sandbox portal as they run against a real one."""

from __future__ import annotations

import importlib
import json
import subprocess
from collections.abc import Iterator
from typing import Any

import b24pysdk  # type: ignore[import-untyped]
import httpx
import pytest
from aiohttp import ClientResponseError
from b24pysdk.api.requesters.bitrix_oauth_requester import BitrixOAuthRequester  # type: ignore[import-untyped]
from b24pysdk.errors import BitrixAPIError  # type: ignore[import-untyped]
from fast_bitrix24 import BitrixAsync  # type: ignore[import-untyped]
from fast_bitrix24.server_response import ErrorInServerResponseException  # type: ignore[import-untyped]

from tests.contract.sandbox_portal_kit import ROOT
from tests.forker import forked

EXTRA = 2600  # with the sample firm's deals: one full batch of 50 pages and one that is not full


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A portal with many deals, alone in its process."""
    command = forked("-m", "sandbox.portal", "--port", "0", "--bucket", "off", "--bulk-deals", str(EXTRA), "--seed", "7")
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["portal"]
        process.terminate()


@pytest.fixture(autouse=True)
def control(address: str) -> Iterator[httpx.Client]:
    """The control addresses of a portal back in its first state."""
    with httpx.Client(base_url=address, timeout=10) as client:
        client.post("/sandbox/reset")
        yield client


@pytest.fixture
async def fast(address: str) -> BitrixAsync:
    """Asynchronous, because the client looks for the running loop when it is made."""
    return BitrixAsync(f"{address}/rest/1/sandbox/", verbose=False)


@pytest.fixture
def official(address: str, monkeypatch: pytest.MonkeyPatch) -> b24pysdk.Client:
    """The vendor's SDK, told only to speak http: the address it builds is the only thing replaced."""
    caller = importlib.import_module("b24pysdk.api.callers.call_method")._MethodCaller
    monkeypatch.setattr(caller, "_base_url", property(lambda self: f"http://{self._domain}/rest"))
    webhook = b24pysdk.BitrixWebhook(domain=address.removeprefix("http://"), webhook_token="1/sandbox")
    return b24pysdk.Client(webhook)


def _stats(control: httpx.Client) -> dict[str, Any]:
    return dict(control.get("/sandbox/stats").json())


def _fill_bucket(control: httpx.Client) -> None:
    control.post("/sandbox/limits", json={"bucket": "2/50", "level": 50})


@pytest.mark.filterwarnings("ignore:You are selecting all fields:UserWarning")
async def test_fast_bitrix24_reads_every_deal_once(fast: BitrixAsync, control: httpx.Client) -> None:
    """get_all gives all rows of many pages, each once, in a handful of requests."""
    deals = await fast.get_all("crm.deal.list", {"select": ["*", "UF_*"]})
    assert len({deal["ID"] for deal in deals}) == len(deals) == EXTRA + 48
    assert {"STAGE_ID", "UF_CRM_1747309879"} <= set(deals[0])
    assert _stats(control)["requests"] == 3


async def test_fast_bitrix24_makes_changes_and_deletes(fast: BitrixAsync, control: httpx.Client) -> None:
    """Lists of adds, updates, gets and deletes go through batch and come back in their order."""
    added = await fast.call("crm.lead.add", [{"fields": {"TITLE": f"Мир & {n}"}} for n in range(60)])
    assert len(set(added)) == 60
    await fast.call("crm.lead.update", [{"ID": number, "fields": {"COMMENTS": f"+{number}"}} for number in added])
    leads = await fast.get_by_ID("crm.lead.get", added)
    assert [leads[str(n)]["COMMENTS"] for n in added] == [f"+{n}" for n in added]
    assert sorted(lead["TITLE"] for lead in leads.values()) == sorted(f"Мир & {n}" for n in range(60))
    assert await fast.call("crm.lead.delete", [{"ID": number} for number in added]) == (True,) * 60
    assert _stats(control)["committed"] == dict.fromkeys(("crm.lead.add", "crm.lead.update", "crm.lead.delete"), 60)


async def test_fast_bitrix24_single_raw_and_hand_made_batch(fast: BitrixAsync) -> None:
    """A raw call, and a batch written by hand in which one result feeds the next."""
    assert (await fast.call("profile", raw=True))["result"]["ID"] == "1"
    commands = {"one": "crm.deal.list?filter[ID]=410", "two": "crm.deal.get?id=$result[one][0][ID]"}
    assert (await fast.call_batch({"halt": 0, "cmd": commands}))["two"]["ID"] == "410"


async def test_fast_bitrix24_hears_of_errors(fast: BitrixAsync) -> None:
    """A refused command and an unknown method are its own exceptions."""
    with pytest.raises(ErrorInServerResponseException, match="Not found"):
        await fast.call("crm.deal.get", {"ID": 999999})
    with pytest.raises(ClientResponseError, match="404"):
        await fast.get_all("crm.nope.list")


async def test_fast_bitrix24_waits_for_the_bucket(fast: BitrixAsync, control: httpx.Client) -> None:
    """A refusal by the request limit is waited out by its own retries."""
    _fill_bucket(control)
    assert (await fast.call("server.time", raw=True))["result"]
    assert _stats(control)["refused_503"] >= 1


def test_b24pysdk_makes_changes_and_deletes(official: b24pysdk.Client) -> None:
    """Add, get, update, list and delete of one deal."""
    deals = official.crm.deal
    number = deals.add(fields={"TITLE": "Из SDK", "OPPORTUNITY": 5}).result
    assert deals.get(bitrix_id=number).result["OPPORTUNITY"] == "5.00"
    assert deals.update(bitrix_id=number, fields={"OPPORTUNITY": 6}).result is True
    assert [deal["OPPORTUNITY"] for deal in deals.list(select=["OPPORTUNITY"], filter={"ID": number}).result] == ["6.00"]
    assert deals.delete(bitrix_id=number).result is True
    with pytest.raises(BitrixAPIError, match="Not found"):
        _ = deals.get(bitrix_id=number).result


@pytest.mark.parametrize("way", ["as_list", "as_list_fast"])
def test_b24pysdk_reads_every_deal_once(official: b24pysdk.Client, control: httpx.Client, way: str) -> None:
    """Both walks, by offset and by id, give every deal once in a handful of requests."""
    request = official.crm.deal.list(select=["*", "UF_*"])
    deals = list(getattr(request, way)().result)
    assert len({deal["ID"] for deal in deals}) == len(deals) == EXTRA + 48
    assert _stats(control)["requests"] <= 3


def test_b24pysdk_batches_and_errors(official: b24pysdk.Client) -> None:
    """A batch keeps good and refused commands apart; an unknown method and a wrong code are its own exceptions."""
    good, bad = official.crm.deal.get(bitrix_id=410), official.crm.deal.get(bitrix_id=999999)
    answer = official.call_batch({"good": good, "bad": bad}).result
    assert (answer.result["good"]["ID"], list(answer.result_error)) == ("410", ["bad"])
    many = official.call_batches([official.crm.deal.update(bitrix_id=410, fields={"OPPORTUNITY": n}) for n in range(120)]).result
    assert list(many.result.values()) == [True] * 120
    with pytest.raises(BitrixAPIError, match="Method not found"):
        official.get_token().call_method("crm.nope")


def test_b24pysdk_speaks_the_third_version_of_tasks(address: str, official: b24pysdk.Client) -> None:
    """With prefer_version=3 its tasks go to /rest/api/ and come back typed."""
    third = b24pysdk.Client(official.get_token(), prefer_version=3)
    made = third.tasks.task.add(fields={"title": "v3", "creatorId": 1, "responsibleId": 7}).result
    assert (made["item"]["title"], made["item"]["status"]) == ("v3", "pending")
    assert third.tasks.task.get(bitrix_id=made["item"]["id"]).result["item"]["responsibleId"] == 7


def test_b24pysdk_renews_its_token(address: str, official: b24pysdk.Client, control: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """An expired access token is renewed by the SDK itself at the portal's authorisation address, and the call goes through."""
    monkeypatch.setattr(BitrixOAuthRequester, "_OAUTH_TOKEN_URL", f"{address}/oauth/token/")
    pair = control.post("/sandbox/oauth", json={"user_id": 7}).json()
    app = b24pysdk.BitrixApp(client_id=pair["client_id"], client_secret=pair["client_secret"])
    token = b24pysdk.BitrixToken(
        domain=address.removeprefix("http://"), auth_token=pair["access_token"], refresh_token=pair["refresh_token"], bitrix_app=app
    )
    control.post("/sandbox/oauth/expire")
    assert b24pysdk.Client(token).profile().result["ID"] == "7"
    assert token.oauth_token.refresh_token != pair["refresh_token"]
