"""Reads the portal sandbox (a fake Bitrix24) over HTTP, and prepares its deals and calls for the page."""

from time import monotonic
from typing import Any

import httpx
from fastapi import HTTPException

from sandbox.telegram.wire import JsonObject
from sandbox.telegram.wording import describe_call

_NAMES_SECONDS = 10.0
_TIMEOUT = 5.0
_WRAPPERS = ("records", "items", "result")


class Portal:
    """A client of the portal sandbox for the page; it caches the names of people and of deal stages for ten seconds."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self._url = url.rstrip("/")
        self._client = client
        self._names: tuple[float, dict[str, str], dict[str, JsonObject]] | None = None

    async def deals(self) -> JsonObject:
        """Return the deals, newest first, with names instead of codes ("" for an unknown one). Raises 502 if the portal does not answer."""
        owners, stages = await self._known_names()
        rows = [_deal(record, owners, stages) for record in await self._records("deal")]
        return {"deals": sorted(rows, key=lambda row: -row["id"])}

    async def ledger(self, after: int) -> JsonObject:
        """Return the calls numbered above `after` in the portal's log of calls, each also in words (`told`) and with its `state`."""
        calls = _listed(await self._fetch(f"/sandbox/ledger?after={after}"), "calls")
        return {
            "calls": [{**call, "told": describe_call(str(call["method"]), call.get("params")), "state": _state(call)} for call in calls]
        }

    async def _known_names(self) -> tuple[dict[str, str], dict[str, JsonObject]]:
        if self._names and monotonic() - self._names[0] < _NAMES_SECONDS:
            return self._names[1], self._names[2]
        owners = {str(record.get("ID")): _full_name(record) for record in await self._records("user")}
        stages = {str(record.get("STATUS_ID")): record for record in await self._stages()}
        self._names = (monotonic(), owners, stages)
        return owners, stages

    async def _records(self, kind: str) -> list[JsonObject]:
        return _listed(await self._fetch(f"/sandbox/records/{kind}"), *_WRAPPERS)

    async def _stages(self) -> list[JsonObject]:
        # If the portal does not show its status book, the page says only whether a deal is open, and shows the deals all the same.
        try:
            return [record for record in await self._records("status") if _is_stage(record)]
        except HTTPException:
            return []

    async def _fetch(self, path: str) -> Any:
        try:
            answer = await self._client.get(self._url + path, timeout=_TIMEOUT)
            answer.raise_for_status()
            return answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise HTTPException(502, f"the portal sandbox did not answer: {type(error).__name__}") from None


def _listed(body: Any, *wrappers: str) -> list[JsonObject]:
    """Return the records in an answer as a list.

    The answer may be a list of records or a map from ids to records, and may be wrapped in an object under one of the names `wrappers`.
    """
    for name in wrappers:
        if isinstance(body, dict) and name in body:
            body = body[name]
            break
    rows = list(body.values()) if isinstance(body, dict) else body
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _deal(record: JsonObject, owners: dict[str, str], stages: dict[str, JsonObject]) -> JsonObject:
    stage = str(record.get("STAGE_ID", ""))
    owner = str(record.get("ASSIGNED_BY_ID", ""))
    known = stages.get(stage, {})
    return {
        "id": int(record.get("ID") or 0),
        "title": str(record.get("TITLE", "")),
        "stage": str(known.get("NAME") or ""),
        "semantics": _semantics(record, known),
        "sum": float(record.get("OPPORTUNITY") or 0),
        "currency": str(record.get("CURRENCY_ID") or "RUB"),
        "owner": owners.get(owner, ""),
        "comments": str(record.get("COMMENTS") or ""),
    }


def _semantics(record: JsonObject, stage: JsonObject) -> str:
    """Return whether a deal is won ("S"), lost ("F") or in progress ("P").

    The deal's own field says so or, if that is empty, its `stage`.
    """
    given = str(record.get("STAGE_SEMANTIC_ID") or stage.get("SEMANTICS") or "P")
    return given if given in {"S", "F"} else "P"


def _state(call: JsonObject) -> str:
    """Return the state of a call for the page: ok, open (no answer yet), lost (no answer came) or refused."""
    outcome = call.get("outcome", call.get("status"))
    states = {"ok": "ok", 200: "ok", "open": "open", "dropped": "lost"}
    return states.get(outcome, "refused") if isinstance(outcome, str | int) else "ok"


def _is_stage(record: JsonObject) -> bool:
    return str(record.get("ENTITY_ID", "")).startswith("DEAL_STAGE")


def _full_name(record: JsonObject) -> str:
    return " ".join(str(record.get(name) or "") for name in ("NAME", "LAST_NAME")).strip()
