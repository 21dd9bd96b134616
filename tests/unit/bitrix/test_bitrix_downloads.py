"""A file is read only from the portal itself, in bounds, and its address, which holds a token, stands in no error."""

import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from bitrix.client.client import BitrixClient
from bitrix.errors import BitrixError
from bitrix.limits.limiter import Limiter

CODE, TOKEN = "topsecretcode", "crm%7Csecrettoken"
HOME = "https://portal.example"
PATH = f"/rest/1/{CODE}/crm.controller.item.getFile/?token={TOKEN}"
GIVES = {"Content-Disposition": 'attachment; filename="dogovor.pdf"'}
Connect = Callable[[httpx.Response | Exception], BitrixClient]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    made: list[BitrixClient] = []

    def make(answer: httpx.Response | Exception) -> BitrixClient:
        def serve(request: httpx.Request) -> httpx.Response:
            seen.append(str(request.url))
            if isinstance(answer, Exception):
                raise answer
            return answer

        made.append(BitrixClient(f"{HOME}/rest/1/{CODE}/", limiter=Limiter.create_unlimited(), transport=httpx.MockTransport(serve)))
        return made[-1]

    yield make
    for client in made:
        await client.aclose()


seen: list[str] = []


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    seen.clear()


async def fail(client: BitrixClient, address: str, **more: Any) -> BitrixError:
    """The error, which names neither code nor token."""
    with pytest.raises(BitrixError) as failure:
        await client.read_file(address, **{"at_most": 1000, "within": 5.0, **more})
    text = "".join(traceback.format_exception(failure.value)) + repr(failure.value.__context__)
    assert CODE not in text.replace(f'CODE, TOKEN = "{CODE}"', "")
    assert "secrettoken" not in text
    return failure.value


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('attachment; filename="dogovor.pdf"', "dogovor.pdf"),
        ("attachment; filename=\"x\"; filename*=utf-8''%D0%B4%D0%BE%D0%B3.pdf", "дог.pdf"),
        ("attachment", ""),
    ],
)
async def test_a_file_comes_with_its_name(connect: Connect, header: str, name: str) -> None:
    file = await connect(httpx.Response(200, content=b"abc", headers={"Content-Disposition": header})).read_file(
        HOME + PATH, at_most=3, within=5.0
    )
    assert (file.name, file.content) == (name, b"abc")


@pytest.mark.parametrize(
    "address",
    [
        f"https://evil.example{PATH}",
        f"//evil.example{PATH}",
        f"http://portal.example{PATH}",
        f"https://portal.example:8443{PATH}",
        f"https://user:word@portal.example{PATH}",
        f"https://portal.example.evil.example{PATH}",
        f"{HOME}/rest/1/{CODE}/crm.deal.delete?id=1",
        f"{HOME}/rest/1/{CODE}/crm.deal.delete?x=crm.controller.item.getFile/",
        f"{HOME}/bitrix/show_file.php?token={TOKEN}",
        "http://[",
    ],
)
async def test_nothing_is_asked_of_another_place(connect: Connect, address: str) -> None:
    """Neither another host, port or scheme, nor a method that gives no file."""
    await fail(connect(httpx.Response(200, content=b"abc", headers=GIVES)), address)
    assert seen == []


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(302, headers={"Location": "https://evil.example/x"}),
        httpx.Response(200, content=b"<html>log in</html>"),
        httpx.Response(403, json={"error": "ACCESS_DENIED"}, headers=GIVES),
        httpx.Response(200, content=b"x" * 1001, headers=GIVES),
        httpx.ReadError(f"{HOME}{PATH}"),
    ],
)
async def test_what_is_no_file_or_too_much_is_an_error(connect: Connect, answer: httpx.Response | Exception) -> None:
    """Redirects are not followed, and nothing is tried twice."""
    await fail(connect(answer), HOME + PATH)
    assert len(seen) == 1
