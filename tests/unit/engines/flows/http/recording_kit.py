"""Notes what the API of flows and agents answers as it stands on the wire, and compares it with what was recorded.

`python -m` of a test that records writes the answers of today into tests/corpus/flows_http.
"""

import asyncio
import json
import re
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.unit.bot.http_api.api_kit import SECRETS
from tests.unit.engines.flows.http.flows_kit import FlowApi

CORPUS = Path(__file__).parents[4] / "corpus" / "flows_http"
HEADERS = (
    "content-type", "etag", "location", "content-disposition", "cache-control", "x-accel-buffering", "retry-after", "allow", "connection"
)  # fmt: skip
UNKNOWN = "0190bbbb-0000-7000-8000-000000000001"
_MADE_UP = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}", re.ASCII | re.IGNORECASE)
_SECONDS = re.compile(r'(\\"seconds\\":)[0-9.]+')
"""How long the model took is a matter of the real clock."""
_LONGEST = 400


class Recorder:
    """Notes requests and answers; ids and digests, which are new in each run, are told by the order in which they come."""

    def __init__(self, api: FlowApi) -> None:
        self.api = api
        self.lines: list[str] = []
        self._names: dict[str, str] = {}

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        caller: str = "chief",
        content: bytes | None = None,
        kind: str = "application/json",
        goes_on: bool = False,
        **headers: str,
    ) -> httpx.Response:
        """The answer to one request, which is noted; `content` is a body as it is, of the type `kind`.

        Of an answer about a run that `goes_on` beside it only the names of its fields are noted: how far it has come is chance.
        """
        known = {"X-API-Key": SECRETS.get(caller, caller)} if caller else {}
        sent = known | {name.replace("_", "-"): value for name, value in headers.items()}
        raw = json.dumps(body, ensure_ascii=False).encode() if body is not None else content
        answer = await self.api.http.request(method, path, content=raw, headers=sent | ({"Content-Type": kind} if raw is not None else {}))
        self._note(
            {
                "ask": f"{method} {path}",
                "as": caller,
                **({"headers": headers} if headers else {}),
                **({"kind": kind} if kind != "application/json" else {}),
                **({"body": raw.decode("latin-1" if body is None else "utf-8")[:_LONGEST]} if raw is not None else {}),
                "status": answer.status_code,
                "answer headers": {name: answer.headers[name] for name in HEADERS if name in answer.headers},
                "answer": " ".join(answer.json()) if goes_on else answer.text,
            }
        )
        return answer

    async def make(self, path: str, document: Any, *, is_published: bool = True, **more: Any) -> str:
        """The id of a new version."""
        made = (await self.ask("POST", path, {"definition": document, **more})).json()["id"]
        if is_published:
            await self.ask("POST", f"{path}/{made}/publish")
        return str(made)

    def _note(self, line: Mapping[str, Any]) -> None:
        text = _SECONDS.sub(r"\g<1>0.0", json.dumps(line, ensure_ascii=False))
        self.lines.append(_MADE_UP.sub(lambda found: self._names.setdefault(found[0], f"#{len(self._names)}"), text))


Drive = Callable[[Path], Coroutine[Any, Any, list[str]]]
"""Asks everything of one part of the API in a world of its own, and returns the lines of its file."""


def compare(name: str, lines: Sequence[str]) -> None:
    """Fail with the first answer that is not the recorded one."""
    recorded = (CORPUS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    for now, before in zip(lines, recorded, strict=False):
        assert now == before
    assert len(lines) == len(recorded)


def write_corpus(drives: Mapping[str, Drive]) -> None:
    """Write each part's answers of today into its file."""
    CORPUS.mkdir(exist_ok=True)
    for name, drive in drives.items():
        with tempfile.TemporaryDirectory() as folder:
            lines = asyncio.run(drive(Path(folder)))
        (CORPUS / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
