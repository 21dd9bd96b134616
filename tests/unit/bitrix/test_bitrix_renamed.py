"""A renamed portal: found where it says it lives now, if that can only be itself; everything else is refused."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime

import httpx
import pytest
from pydantic import SecretStr

from bitrix.auth.auth import Webhook
from bitrix.auth.oauth import Application, TokenServer
from bitrix.client.address import find_new_address
from bitrix.client.client import BitrixClient
from bitrix.errors import OutcomeUnknown
from bitrix.limits.limiter import Limiter

CODE = "topsecretcode"
OLD, NEW, NEWER = "b24-abc.bitrix24.ru", "romashka.bitrix24.ru", "lutik.bitrix24.by"


class Cloud:
    """A cloud in which portals moved: name -> where its REST redirects to."""

    def __init__(self, moved: dict[str, str], status: int = 302) -> None:
        self.moved, self.status = moved, status
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if (to := self.moved.get(request.url.netloc.decode())) is None:
            return httpx.Response(200, json={"result": True})
        return httpx.Response(self.status, headers={"location": str(request.url.copy_with(netloc=to.encode()))}, text="<html>")

    @property
    def hosts(self) -> list[str]:
        return [request.url.netloc.decode() for request in self.requests]


def client_of(cloud: Callable[[httpx.Request], httpx.Response], host: str = OLD, scheme: str = "https") -> BitrixClient:
    limiter = Limiter.create_unlimited(sleep=_no_pause)
    return BitrixClient(f"{scheme}://{host}/rest/1/{CODE}/", limiter=limiter, transport=httpx.MockTransport(cloud))


async def _no_pause(_: float) -> None:
    return


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_renamed_portal_is_found(caplog: pytest.LogCaptureFixture, status: int) -> None:
    """The same POST goes to the new name, once; later calls go there at once; ops hear of it once; the portal stays who it was."""
    cloud = Cloud({OLD: NEW}, status)
    async with client_of(cloud) as client:
        for number in range(3):
            assert (await client.call("crm.deal.add", {"n": number})).result is True
        assert cloud.hosts == [OLD, NEW, NEW, NEW]
        assert {(r.method, r.url.path) for r in cloud.requests} == {("POST", f"/rest/1/{CODE}/crm.deal.add")}
        assert [r.content for r in cloud.requests] == [b'{"n":0}', b'{"n":0}', b'{"n":1}', b'{"n":2}']
        assert (client.portal, client.base_url) == (OLD, f"https://{OLD}")
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert told == [f"the portal {OLD} was renamed to {NEW}: put the new name into BITRIX_WEBHOOK_URL"]


async def test_one_redirect_a_call(caplog: pytest.LogCaptureFixture) -> None:
    """A call follows one redirect; a chain of two names is walked by the next call, a circle never ends in a loop."""
    cloud = Cloud({OLD: NEW, NEW: NEWER})
    async with client_of(cloud) as client:
        with pytest.raises(OutcomeUnknown, match="from one name to another"):
            await client.call("crm.deal.add", {})
        assert cloud.hosts == [OLD, NEW]
        await client.call("crm.deal.add", {})
        assert cloud.hosts == [OLD, NEW, NEWER]
    assert len(caplog.records) == 2

    circle = Cloud({OLD: NEW, NEW: OLD})
    async with client_of(circle) as client:
        with pytest.raises(OutcomeUnknown):
            await client.call("crm.deal.add", {})
    assert len(circle.requests) == 2


async def test_a_foreign_host_gets_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """A self-hosted portal's redirect is explained and not followed; the setting named is the one in use."""
    cloud = Cloud({"portal.example": "elsewhere.example"})
    async with client_of(cloud, "portal.example") as client:
        with pytest.raises(OutcomeUnknown, match=r"redirects to elsewhere\.example.*into BITRIX_WEBHOOK_URL") as caught:
            await client.call("profile", {}, repeatable=True)
    assert (cloud.hosts, caplog.records, CODE in str(caught.value)) == (["portal.example"], [], False)


async def test_an_application_is_renamed_too(caplog: pytest.LogCaptureFixture) -> None:
    """An application follows its portal, its token goes only where the portal may be, and the warning names its setting."""
    stored: dict[str, str] = {}

    class Store:
        async def load(self, name: str) -> str | None:
            return stored.get(name)

        async def swap(self, name: str, expected: str | None, text: str) -> bool:
            del expected
            stored[name] = text
            return True

    moves = Cloud({OLD: NEW})

    def both(request: httpx.Request) -> httpx.Response:
        if request.url.host == "oauth.bitrix.info":
            return httpx.Response(200, json={"access_token": "a", "refresh_token": "r"})
        return moves(request)

    transport = httpx.MockTransport(both)
    server = TokenServer("id", SecretStr("key"), transport=transport)
    auth = Application(OLD, SecretStr("first"), server=server, store=Store(), now=lambda: datetime.now(UTC))
    async with BitrixClient(auth, limiter=Limiter.create_unlimited(), transport=transport) as client:
        await client.call("event.get", {"x": 1})
        moves.moved = {NEW: "evil.example"}
        with pytest.raises(OutcomeUnknown, match="into BITRIX_PORTAL"):
            await client.call("event.get", {})
    assert moves.hosts == [OLD, NEW, NEW]
    assert [r.content for r in moves.requests[:2]] == [b'{"auth":"a","x":1}'] * 2
    assert [record.getMessage() for record in caplog.records] == [
        f"the portal {OLD} was renamed to {NEW}: put the new name into BITRIX_PORTAL"
    ]


ASKED = f"https://{OLD}/rest/1/{CODE}/profile"
LOCAL = f"http://127.0.0.1:8100/rest/1/{CODE}/profile"


@pytest.mark.parametrize(
    ("asked", "location", "followed"),
    [
        (ASKED, ASKED.replace(OLD, NEW), True),
        (ASKED, ASKED.replace(OLD, "Romashka.Bitrix24.COM"), True),
        (ASKED, ASKED.replace(OLD, "romashka.bitrix24.com.br"), True),
        (ASKED, ASKED.replace(OLD, f"{NEW}:443"), True),
        ("same host", ASKED, False),
        ("nowhere", "", False),
        ("relative", f"/rest/1/{CODE}/profile", False),
        ("broken", "https://[broken", False),
        ("plain http", ASKED.replace(OLD, NEW).replace("https", "http"), False),
        ("other scheme", ASKED.replace(OLD, NEW).replace("https", "ftp"), False),
        ("other port", ASKED.replace(OLD, f"{NEW}:8443"), False),
        ("other path", f"https://{NEW}/rest/1/{CODE}/profile/", False),
        ("login page", f"https://{NEW}/auth/", False),
        ("other method", f"https://{NEW}/rest/1/{CODE}/crm.deal.delete", False),
        ("other user", f"https://{NEW}/rest/7/{CODE}/profile", False),
        ("query", ASKED.replace(OLD, NEW) + "?x=1", False),
        ("fragment", ASKED.replace(OLD, NEW) + "#x", False),
        ("a user", ASKED.replace(OLD, f"u:p@{NEW}"), False),
        ("no portal of the zone", ASKED.replace(OLD, "www.bitrix24.ru"), False),
        ("the zone itself", ASKED.replace(OLD, "bitrix24.ru"), False),
        ("a name under a portal", ASKED.replace(OLD, "a.b.bitrix24.ru"), False),
        ("like the zone", ASKED.replace(OLD, "romashka.mybitrix24.ru"), False),
        ("the zone in front", ASKED.replace(OLD, "romashka.bitrix24.ru.evil.example"), False),
        ("the zone as user", ASKED.replace(OLD, f"{NEW}@evil.example"), False),
        ("trailing dot", ASKED.replace(OLD, f"{NEW}."), False),
        ("look-alike letters", ASKED.replace(OLD, "romashka.bіtrix24.ru"), False),
        ("sites of the cloud", ASKED.replace(OLD, "romashka.bitrix24.site"), False),
        ("out of the cloud", ASKED.replace(OLD, "portal.example"), False),
        ("inside", ASKED.replace(OLD, "127.0.0.1"), False),
        (ASKED.replace(OLD, "portal.example"), ASKED.replace(OLD, NEW), False),
        (LOCAL, LOCAL.replace("8100", "8101"), True),
        (LOCAL, LOCAL.replace("127.0.0.1", "localhost"), True),
        (LOCAL, LOCAL, False),
        (LOCAL, LOCAL.replace("http", "https").replace("8100", "8101"), False),
        (LOCAL, LOCAL.replace("127.0.0.1:8100", "10.0.0.1"), False),
    ],
)
def test_what_is_followed(asked: str, location: str, followed: bool) -> None:  # noqa: FBT001 - a column of the table
    """Only the same path and query at another portal of the vendor's cloud, over https; on loopback another port."""
    url = httpx.URL(asked if "://" in asked else ASKED)
    assert (find_new_address(url, location) is not None) is followed


async def test_what_is_done_is_not_asked_for_elsewhere() -> None:
    """A redirect to a result (303) says that something was done: it is not followed."""
    cloud = Cloud({OLD: NEW}, 303)
    async with client_of(cloud) as client:
        with pytest.raises(OutcomeUnknown):
            await client.call("crm.deal.add", {})
    assert cloud.hosts == [OLD]
    assert CODE not in repr(vars(Webhook(f"https://{OLD}/rest/1/{CODE}/")))
