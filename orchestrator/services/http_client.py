"""Requests to the services beside the program, in this process or at an address (S001-58, S001-68, X5)."""

import asyncio
import json
import os
import socket
import ssl
from collections.abc import Mapping
from itertools import zip_longest
from typing import Final

import httpx
from pydantic import BaseModel, Field, ValidationError

from orchestrator.domain.errors import ServiceFailed
from orchestrator.domain.own_reads import DocumentAnswer, DocumentPassage
from state.canonical import to_storable, to_storable_text
from state.stored import JsonObject
from state.trace import build_trace_headers

HEALTH_SECONDS: Final = 5.0
POST_SECONDS: Final = 10.0
LARGEST: Final = 2_000_000
"""Bytes."""
_QUOTED: Final = 300


class ServiceClients:
    """By name. The owner of the clients closes them."""

    def __init__(self, clients: Mapping[str, httpx.AsyncClient], *, believed: frozenset[str] = frozenset()) -> None:
        """A service without a client is not reachable; `believed` believe who asks."""
        self._clients = dict(clients)
        self.believed = believed

    async def check_health(self, service: str) -> JsonObject:
        """Raises ServiceFailed."""
        return await self._request(service, "GET", "/health", None, HEALTH_SECONDS)

    async def post(self, service: str, path: str, body: JsonObject) -> JsonObject:
        """Raises ServiceFailed, also for every status other than 2xx."""
        return await self._request(service, "POST", path, body, POST_SECONDS)

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()

    async def _request(self, service: str, method: str, path: str, body: JsonObject | None, seconds: float) -> JsonObject:
        client = self._clients.get(service)
        if client is None:
            raise ServiceFailed(f"the address of the service {service} is not set")
        try:
            # the one limit: a service in this process has no connection whose time could run out, and httpx's own five seconds of silence
            # would end a request that may take ten
            async with asyncio.timeout(seconds):
                async with client.stream(method, path, json=body, headers=build_trace_headers(), timeout=None) as response:
                    content = await _read_limited(response)
        except TimeoutError:
            raise ServiceFailed(f"no answer within {seconds:g} seconds") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise ServiceFailed(f"the service cannot be asked ({_name_cause(error)})") from None
        if not response.is_success:
            raise ServiceFailed(f"HTTP {response.status_code}: {_quote(content)}")
        return _parse_object(content)


def _name_cause(error: Exception) -> str:
    """Without the text of the error, which may quote an address with a password."""
    innermost: BaseException = error
    while (deeper := innermost.__cause__ or innermost.__context__) is not None:
        innermost = deeper
    why = ""
    if isinstance(innermost, ssl.SSLError):
        why = getattr(innermost, "verify_message", "") or getattr(innermost, "reason", "") or "TLS"
    elif isinstance(innermost, socket.gaierror):
        why = innermost.strerror or ""
    elif isinstance(innermost, OSError) and innermost.errno:
        why = os.strerror(innermost.errno)
    return f"{type(error).__name__}: {why}" if why else type(error).__name__


async def _read_limited(response: httpx.Response) -> bytes:
    content = b""
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > LARGEST:
            raise ServiceFailed(f"the answer is longer than {LARGEST} bytes")
    return content


def _parse_object(content: bytes) -> JsonObject:
    try:
        parsed = json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ServiceFailed("the answer is not JSON") from None
    if not isinstance(parsed, dict):
        raise ServiceFailed("the answer is not a JSON object")
    return parsed


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _quote(content: bytes) -> str:
    text = " ".join(to_storable_text(content[: _QUOTED * 4].decode(errors="replace")).split())
    return text[:_QUOTED]


SERVICE: Final = "rag"
_LONGEST_SOURCE: Final = 400
MOST_TEXT: Final = 2_000
"""Characters taken over of a passage."""


class _Found(BaseModel):
    answer: str
    chunk_title_list: list[str]
    chunk_texts: list[str]
    sources: list[str] = Field(default_factory=list)
    shown_texts: list[str] = Field(default_factory=list)
    document_paths: list[str] = Field(default_factory=list)
    """Of a service that tells them, one for each chunk."""
    answered_by: str = Field("", max_length=200)
    model: str = Field("", max_length=200)


class DocumentClient:
    """Who asks is told only if the service believes it; else public folders answer."""

    def __init__(self, services: ServiceClients, *, top_k: int) -> None:
        self._services, self._top_k = services, top_k

    async def ask(self, question: str, *, person: str, role: str, top_k: int | None = None) -> DocumentAnswer:
        """What people with this role may read. Raises ServiceFailed."""
        payload: JsonObject = {"question": question, "top_k": top_k or self._top_k}
        if SERVICE in self._services.believed:
            payload = {**payload, "roles": [role] if role else [], "asked_by": person}
        body = to_storable(await self._services.post(SERVICE, "/search", payload))
        if "error" in body:
            raise ServiceFailed(str(body["error"]))
        try:
            reply = _Found.model_validate(body)
        except ValidationError:  # its text quotes the answer
            raise ServiceFailed("the answer has another form") from None
        parts = zip_longest(reply.chunk_title_list, reply.chunk_texts, reply.sources, reply.shown_texts, reply.document_paths, fillvalue="")
        passages = [
            DocumentPassage(title=title, text=text[:MOST_TEXT], source=source[:_LONGEST_SOURCE], shown=shown[:MOST_TEXT], path=path)
            for title, text, source, shown, path in parts
            if title or text
        ]
        return DocumentAnswer(answer=reply.answer, passages=passages, answered_by=reply.answered_by, model=reply.model)
