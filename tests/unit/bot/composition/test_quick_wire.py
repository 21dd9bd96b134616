"""The quick wire: what it sends, whom it leaves to httpx's own."""

import asyncio

import httpx
import pytest

from bot.composition.http_transport import AiohttpTransport, build_transport


@pytest.mark.parametrize(
    ("address", "proxies", "ours"),
    [
        ("https://example.bitrix24.ru/rest/", {}, True),
        ("https://example.bitrix24.ru/rest/", {"HTTPS_PROXY": "http://127.0.0.1:9"}, False),
        ("https://example.bitrix24.ru/rest/", {"all_proxy": "http://127.0.0.1:9"}, False),
        ("http://127.0.0.1:8000/v1", {"HTTP_PROXY": "http://127.0.0.1:9"}, True),
    ],
)
def test_proxies_are_left_to_httpx(address: str, proxies: dict[str, str], ours: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a proxy may stand in between, httpx's own wire is used; before this machine none does."""
    for scheme in ("http", "https", "all"):
        monkeypatch.delenv(f"{scheme}_proxy", raising=False)
        monkeypatch.delenv(f"{scheme}_PROXY".upper(), raising=False)
    for name, value in proxies.items():
        monkeypatch.setenv(name, value)

    assert isinstance(build_transport(address, kept=1.0), AiohttpTransport) is ours


async def test_what_is_sent_is_what_httpx_made() -> None:
    """The target keeps its spelling, each header goes once, the body whole; a cookie of the server is not sent back."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            size = next(int(line.split(b":")[1]) for line in head.splitlines() if line.lower().startswith(b"content-length"))
            heard.append(head + await reader.readexactly(size))
            writer.write(b"HTTP/1.1 200 Fine\r\nSet-Cookie: a=b\r\nX-Two: 1\r\nX-Two: 2\r\nContent-Length: 2\r\n\r\nok")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with (
        server,
        httpx.AsyncClient(transport=AiohttpTransport(connections=1, kept=9.0, secure=False), headers=[(b"X-Own", "да".encode())]) as client,
    ):
        for _ in range(2):
            client.cookies.clear()
            answer = await client.post(f"http://127.0.0.1:{port}/a%2Fb/c%20d?q=%D1%8F", content="тело".encode())

    assert (answer.status_code, answer.reason_phrase, answer.text) == (200, "Fine", "ok")
    assert answer.headers.get_list("x-two") == ["1", "2"]
    for request in heard:
        head, _, body = request.partition(b"\r\n\r\n")
        names = [line.partition(b":")[0].lower() for line in head.splitlines()[1:]]
        assert head.startswith(b"POST /a%2Fb/c%20d?q=%D1%8F HTTP/1.1\r\n")
        assert len(names) == len(set(names))
        assert b"cookie" not in names
        assert b"\r\nX-Own: " + "да".encode() + b"\r\n" in head
        assert body == "тело".encode()
