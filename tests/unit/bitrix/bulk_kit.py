"""A portal behind httpx.MockTransport that holds one list of ids and runs batches as the documentation says."""

import asyncio
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qsl

import httpx

from bitrix.bulk.bulk import BulkOptions
from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter

PAGE = 50
_REFERENCE = re.compile(r"\$result((?:\[[^\]]*\])+)")
Row = dict[str, Any]


@dataclass
class Answers:
    """What one batch has answered so far."""

    result: Row = field(default_factory=dict)
    errors: Row = field(default_factory=dict)
    total: Row = field(default_factory=dict)
    next: Row = field(default_factory=dict)


class ListPortal:
    """`broken` is what a reference to nothing becomes: the documentation does not say. `spoil` may refuse a command."""

    def __init__(self, ids: Iterable[int], *, told: str = "ID", box: str = "", broken: str = "") -> None:
        self.ids = sorted(ids)
        self.told = told
        self.box = box
        self.broken = broken
        self.requests: list[Row] = []
        self.commands: list[str] = []
        self.at_work = self.most_at_work = 0
        self.spoil: Callable[[int, str, dict[str, str]], str] = lambda number, key, params: ""
        self.answer: Callable[[int], httpx.Response | None] = lambda number: None

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.requests.append(body)
        number = len(self.requests)
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        for _ in range(3):
            await asyncio.sleep(0)
        self.at_work -= 1
        if (spoilt := self.answer(number)) is not None:
            return spoilt
        if "cmd" in body:
            return httpx.Response(200, json={"result": self._batch(number, body)})
        flat = {"start": str(body["start"])} | {f"order[{key}]": way for key, way in body.get("order", {}).items()}
        return httpx.Response(200, json=self._list(flat))

    def _batch(self, number: int, body: Row) -> Row:
        said = Answers()
        for key, command in body["cmd"].items():
            self.commands.append(command)
            params = {
                name: self._filled(value, said.result) for name, value in parse_qsl(command.partition("?")[2], keep_blank_values=True)
            }
            error = self.spoil(number, key, params)
            if "#broken" in params.values():
                error = "INVALID_ARG_VALUE"
            if error:
                said.errors[key] = {"error": error, "error_description": "spoilt"}
                if body["halt"]:
                    break
                continue
            answer = self._list(params)
            said.result[key] = answer["result"]
            said.total[key] = answer["total"]
            if "next" in answer:
                said.next[key] = answer["next"]
        maps = {"result": said.result, "result_error": said.errors, "result_total": said.total, "result_next": said.next}
        return {name: value or [] for name, value in maps.items()}

    def _list(self, params: dict[str, str]) -> Row:
        low = _number(params.get("filter[>ID]") or params.get("filter[>id]"), 0)
        high = _number(params.get("filter[<=ID]") or params.get("filter[<=id]"), 10**18)
        found = self.ids[bisect_right(self.ids, low) : bisect_right(self.ids, high)]
        if "DESC" in params.values():
            found = found[-PAGE:][::-1]
        start = int(params["start"])
        rows = [{self.told: str(number)} for number in found[max(start, 0) :][:PAGE]]
        answer: Row = {"result": {self.box: rows} if self.box else rows, "total": len(found) if start >= 0 else 0}
        if start >= 0 and start + PAGE < len(found):
            answer["next"] = start + PAGE
        return answer

    def _filled(self, text: str, results: Row) -> str:
        return _REFERENCE.sub(lambda found: self._looked_up(found[1], results), text)

    def _looked_up(self, path: str, results: Row) -> str:
        node: Any = results
        for step in path[1:-1].split("]["):
            try:
                node = node[int(step)] if isinstance(node, list) else node[step]
            except (KeyError, IndexError, ValueError, TypeError):
                return self.broken
        return str(node)


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isdigit() else default


class Hours:
    """A clock that moves when somebody pauses, and only then."""

    def __init__(self) -> None:
        self.now = 1000.0

    def clock(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def client_of(portal: Any, hours: Hours | None = None) -> BitrixClient:
    """Our client before that portal, with no limit and no real pause."""
    hours = hours or Hours()
    limiter = Limiter.create_unlimited(clock=hours.clock, sleep=hours.pause)
    return BitrixClient("https://portal.example/rest/1/code/", limiter=limiter, transport=httpx.MockTransport(portal))


def at_once(**terms: Any) -> BulkOptions:
    """Terms whose pauses take no time."""
    return cast("BulkOptions", {"pause": Hours().pause, **terms})
