"""What is wrong with a definition or a request is answered with a sentence, in bounded time and memory, through the whole app."""

import json
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.http_api.definitions.request_body import MAX_BODY
from state.clock import read_boottime
from tests.unit.bot.http_api.chat_kit import CHIEF, Door, a_door, error_of
from tests.unit.definitions.service_kit import HELLO

CREATE, IMPORT, CHECK = "/definitions/steps", "/definitions/steps/welcome/import", "/definitions/steps/welcome/check"
PUT = "/definitions/steps/welcome/versions/1"
AT_ONCE = 10.0
"""Seconds, many times what the worst of these bodies takes: a guard against minutes, and no measurement."""


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    """The whole app with the example engines."""
    async with a_door(tmp_path, documents={}) as door:
        yield door


async def send(door: Door, path: str, body: Any, kind: str = "application/json", method: str = "POST", **headers: str) -> httpx.Response:
    content = json.dumps(body, ensure_ascii=False) if not isinstance(body, bytes | AsyncIterator) else body
    told = {"X-API-Key": CHIEF, "Content-Type": kind, **headers}
    return await door.http.request(method, path, content=content, headers=told)


async def test_every_mistake_is_in_the_answer(tmp_path: Path) -> None:
    """422 with code, message, path, line, column, step, severity and suggestion of each; the lines are those of the text that was sent."""
    text = b"steps:\n  - {name: a, say: x, sya: y}\n  - {name: a, say: yes}\n  - {id: third, name: c, child: 5}\n"
    async with a_door(tmp_path, documents={}) as door:
        answer = await send(door, "/definitions/steps/bad%20key/import", text, "application/yaml")
        assert error_of(answer) == (422, "definition_refused")
        found = answer.json()["error"]["findings"]
        assert [(one["code"], one["line"], one["column"], one["path"], one["severity"], one["suggestion"]) for one in found] == [
            ("finding-definition-key", 0, 0, "", "error", "bad-key"),
            ("finding-field-unknown", 2, 23, "steps[0].sya", "error", "say"),
            ("finding-name-twice", 3, 12, "steps[1].name", "error", ""),
            ("finding-yaml-word", 3, 20, "steps[1].say", "warning", "true"),
            ("finding-field-unknown", 4, 6, "steps[2].id", "error", ""),
            ("finding-field-shape", 4, 33, "steps[2].child", "error", ""),
        ]
        assert (found[4]["step"], found[4]["message"]) == ("third", 'there is no field "id" here')
        checked = (await send(door, CHECK, text, "application/yaml")).json()
        assert (checked["valid"], checked["findings"], checked["needs_two_people"]) == (False, found[1:], False)
        assert (await send(door, "/definitions/steps", {"key": "a", "text": text.decode()})).json()["error"]["findings"] == found[1:]


async def test_a_mistake_inside_of_document_is_one_of_the_definition_and_outside_one_of_the_request(door: Door) -> None:
    """A doubled key in the definition has its path there; a doubled key of the body makes the whole request doubtful."""
    inside = await send(door, CREATE, b'{"key": "a", "document":\n {"steps": [{"name": "a", "say": "x", "say": "y"}, 01, NaN]}}')
    assert error_of(inside) == (422, "definition_refused")
    assert [(one["code"], one["path"], one["line"]) for one in inside.json()["error"]["findings"]] == [
        ("finding-duplicate-key", "steps[0].say", 2),
        ("finding-field-shape", "steps[1]", 2),
        ("finding-number-form", "steps[1]", 2),
        ("finding-field-shape", "steps[2]", 2),
        ("finding-number-not-finite", "steps[2]", 2),
    ]
    assert error_of(await send(door, CREATE, b'{"document": [}')) == (422, "definition_refused")
    for body in (b'{"key": "a", "key": "b", "document": {}}', b'{"key": ', b"", b"[1", b"\xff\xfe\xff", b"{}}"):
        answer = await send(door, CREATE, body)
        assert error_of(answer) == (400, "invalid_json"), body
        assert answer.json()["error"]["findings"], body
    for body in (b"null", b"5", b"[]", b'"x"'):
        assert error_of(await send(door, CREATE, body)) == (400, "invalid_json"), body


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"key": "a"},
        {"document": HELLO},
        {"key": "a", "document": HELLO, "text": "x"},
        {"key": 5, "document": HELLO},
        {"key": "a", "text": 5},
        {"key": "a", "document": HELLO, "titel": "x"},
        {"key": "a", "document": HELLO, "title": "т" * 201},
        {"key": "a", "document": HELLO, "note": "т" * 501},
        {"key": "a" * 300, "document": HELLO},
    ],
    ids=str,
)
async def test_a_body_of_another_form_is_refused(door: Door, body: Any) -> None:
    assert error_of(await send(door, CREATE, body)) == (400, "invalid_request")
    assert (await send(door, CREATE, b"", method="GET")).json() == {"definitions": [], "next": None}


@pytest.mark.parametrize("key", ["", "..", "a/b", "a\x00", "wеlcome", "ｗ", "-a", "a" * 65, "a b", "a\n"], ids=ascii)
async def test_what_is_no_key_is_refused_with_a_finding_and_found_nowhere(door: Door, key: str) -> None:
    answer = await send(door, CREATE, {"key": key, "document": HELLO})
    assert answer.json()["error"]["findings"][0]["code"] == ("finding-zero-character" if "\x00" in key else "finding-definition-key")
    for part in ("", "/versions", "/versions/1", "/history", "/export", "/diff?before=1&after=2"):
        quoted = "".join(f"%{byte:02X}" for byte in key.encode())
        answer = await send(door, f"/definitions/steps/{quoted}{part}", b"", method="GET")
        assert answer.status_code == 404 or not key, (part, answer.text)


async def test_bodies_are_json_or_yaml(door: Door) -> None:
    for path in (CREATE, CHECK, IMPORT):
        for kind in ("text/plain", "multipart/form-data; boundary=x", "application/xml", "application/octet-stream"):
            assert error_of(await send(door, path, b"steps: []", kind)) == (415, "unsupported_type")
    assert error_of(await send(door, CREATE, b"steps: []", "application/yaml")) == (415, "unsupported_type")
    answer = await send(door, f"{IMPORT}?note={'x' * 501}", b"steps: []", "text/yaml; charset=utf-8")
    assert error_of(answer) == (400, "invalid_request")
    assert (await send(door, IMPORT, b"\xef\xbb\xbfsteps:\r\n- {name: a, say: x}\r\n", "application/x-yaml")).status_code == 201


def _nest(depth: int, opening: bytes, closing: bytes) -> bytes:
    return opening * depth + b"1" + closing * depth


BOMBS = {
    "deep lists": (_nest(10_000, b"[", b"]"), "finding-document-deep"),
    "deep objects": (_nest(10_000, b'{"a":', b"}"), "finding-document-deep"),
    "deep and never closed": (b"[" * 900_000, "finding-document-deep"),
    "wide": (b"[" + b"1," * 400_000 + b"1]", "finding-document-wide"),
    "a long number": (b"9" * 900_000, "finding-number-large"),
    "aliases": (b"a: &a [x, x]\n" + b"".join(b"b%d: &b%d [*a, *a]\n" % (n, n) for n in range(9)), "finding-yaml-alias"),
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("path", [IMPORT, CHECK])
async def test_a_bomb_of_nesting_is_a_finding(tmp_path: Path, name: str, path: str) -> None:
    body, code = BOMBS[name]
    async with a_door(tmp_path, documents={}) as door:
        begun = read_boottime()
        answer = await send(door, path, body, "application/yaml" if path == CHECK or name == "aliases" else "application/json")
        found = answer.json()["findings"] if path == CHECK else answer.json()["error"]["findings"]
        assert (answer.status_code, code in {one["code"] for one in found}) == (200 if path == CHECK else 422, True)
        assert read_boottime() - begun < AT_ONCE


@pytest.mark.parametrize("path", [CREATE, CHECK])
async def test_a_bomb_inside_of_a_json_body_is_a_finding_too(tmp_path: Path, path: str) -> None:
    """Also where the key of the definition stands behind it and is never read."""
    key = b', "key": "a"' if path == CREATE else b""
    async with a_door(tmp_path, documents={}) as door:
        for name in ("deep lists", "deep objects", "deep and never closed", "wide", "a long number"):
            answer = await send(door, path, b'{"document": ' + BOMBS[name][0] + key + b"}")
            told = answer.json().get("error", answer.json())["findings"]
            assert (answer.status_code in {200, 422}, BOMBS[name][1] in {one["code"] for one in told}) == (True, True), name


class _Endless:
    """A body of 200 MB, made as it is read; it counts how much of it was."""

    def __init__(self, size: int = 200_000_000) -> None:
        self.left, self.size = size, size

    @property
    def read(self) -> int:
        return self.size - self.left

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.left > 0:
            self.left -= 100_000
            yield b"[" * 100_000


@pytest.mark.parametrize(("path", "method"), [(CREATE, "POST"), (IMPORT, "POST"), (CHECK, "POST"), (PUT, "PUT")])
async def test_a_body_of_200_mb_is_not_read(door: Door, path: str, method: str) -> None:
    """413 with a sentence after the first megabyte, and no more memory than that."""
    body = _Endless()
    headers = {"X-API-Key": CHIEF, "Content-Type": "application/json", "If-Match": '"1"'}
    tracemalloc.start()
    answer = await door.http.request(method, path, content=body, headers=headers)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert error_of(answer) == (413, "too_large")
    assert answer.json()["error"]["message"] == f"A body may have {MAX_BODY} bytes here."
    assert (body.read <= 2 * MAX_BODY, most < 20_000_000) == (True, True)
    ten = b'{"steps": [' + b'{"name": "a", "say": "x"},' * 400_000 + b"]}"
    assert error_of(await send(door, path, ten, method=method, **{"If-Match": '"1"'})) == (413, "too_large")


async def test_other_endpoints_keep_their_small_limit(door: Door) -> None:
    answer = await send(door, "/runs", {"engine": "steps", "definition": "a", "args": {"x": "y" * 20_000}})
    assert (error_of(answer), "16384" in answer.text) == ((413, "too_large"), True)


async def test_what_is_not_there_is_told(door: Door) -> None:
    answer = await send(door, "/definitions/step", b"", method="GET")
    assert error_of(answer) == (404, "kind_not_found")
    assert "fan, scenario, steps" in answer.json()["error"]["message"]
    for path in ("/definitions/steps/x", "/definitions/steps/x/versions/1", "/definitions/steps/x/export"):
        assert error_of(await send(door, path, b"", method="GET")) == (404, "definition_not_found")
    assert error_of(await send(door, f"{PUT}/publish", {}, **{"If-Match": '"1"'})) == (404, "definition_not_found")
    assert error_of(await send(door, "/definitions/steps/x/versions/0", b"", method="GET")) == (400, "invalid_request")
