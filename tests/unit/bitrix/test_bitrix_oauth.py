"""An application of the portal: one renewal for all, stored before it is used, and nothing executed twice."""

import asyncio
import json
import logging
import random
import traceback
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from bitrix.auth.auth import Grant, Webhook
from bitrix.auth.oauth import RENEWAL_PAUSE, Application, TokenServer
from bitrix.client.client import BitrixClient
from bitrix.errors import BitrixError, NoAccess, NotSent, OutcomeUnknown, Refused
from bitrix.limits.limiter import Limiter
from bitrix.masking import mask
from state.journal.store import StoreUnwritable
from state.sql import open_store
from tests.unit.bitrix.oauth_kit import EXPIRED, FIRST, ID, KEY, PORTAL, Hour, Processes, World, until

SECRETS = (KEY, "refreshtoken", "accesstoken")


def leaks(error: BaseException) -> bool:
    """Whether anything a careless log line could print of an error, its causes and contexts holds a secret."""
    chain: BaseException | None = error
    texts: list[str] = []
    while chain is not None:
        texts += [str(chain), repr(chain), str(chain.__dict__), *traceback.format_exception(chain)]
        chain = chain.__cause__ or chain.__context__
    return any(secret in "".join(texts) for secret in SECRETS)


@pytest.mark.req("S004-73")
async def test_the_token_travels_in_the_body_only(world: World, processes: Processes) -> None:
    """Calls go to /rest/<method> with `auth` as a member of the body; keys keep their order; no token is in an address."""
    client = processes.start()
    await client.call("event.bind", {"b": 1, "a": 2})
    await client.call("profile", {})
    assert [str(r.url) for r in world.rest] == [f"https://{PORTAL}/rest/event.bind", f"https://{PORTAL}/rest/profile"]
    assert [r.content for r in world.rest] == [b'{"auth":"accesstoken1","b":1,"a":2}', b'{"auth":"accesstoken1"}']
    assert (client.is_application, client.portal, client.base_url) == (True, PORTAL, f"https://{PORTAL}")
    assert world.asked == [{"grant_type": "refresh_token", "client_id": ID, "client_secret": KEY, "refresh_token": FIRST}]
    with pytest.raises(NotSent, match="may not hold `auth`"):
        await client.call("profile", {"auth": "somebody else's"})


@pytest.mark.parametrize("seed", range(8))
async def test_many_calls_one_renewal_each_write_once(tmp_path: Path, seed: int) -> None:
    """However many calls of however many processes meet an expired token: one renewal, every call answered, each write done once."""
    world, chance = World(seed), random.Random(seed)  # noqa: S311 - only the order of events hangs on it
    processes = Processes(tmp_path, world, Hour(datetime(2026, 11, 21, 12, tzinfo=UTC)))
    clients = [processes.start() for _ in range(chance.choice([1, 1, 2, 3]))]
    expiries = 3
    for turn in range(expiries):
        names = [f"{turn}.{number}" for number in range(chance.randrange(1, 20))]
        answers = await asyncio.gather(*(chance.choice(clients).call("crm.deal.add", {"id": name}) for name in names))
        assert [answer.result for answer in answers] == names
        assert {world.executed[name] for name in names} == {1}
        assert len(world.asked) == turn + 1
        world.expire()
    await processes.aclose()


async def test_inside_one_process_all_wait_for_one(world: World, processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty-five calls at once write to the database what one call would: the claim and the pair."""
    store = open_store(processes.url)
    client, swap, swaps = processes.start(store=store), store.swap_value, []

    def counting(key: str, expected: str | None, value: str) -> bool:
        swaps.append(value)
        return swap(key, expected, value)

    monkeypatch.setattr(store, "swap_value", counting)
    await asyncio.gather(*(client.call("crm.deal.add", {"id": str(number)}) for number in range(25)))
    assert (len(swaps), len(world.asked), sum(world.executed.values())) == (2, 1, 25)


async def test_a_pair_is_stored_before_it_is_used(world: World, processes: Processes) -> None:
    """At the moment a call with a token arrives, the database holds that token and its refresh token."""
    client = processes.start()
    seen = []

    def look(access: str) -> None:
        seen.append((access in processes.stored(), access.replace("access", "refresh") in processes.stored()))

    world.before_rest = look
    for _ in range(3):
        await client.call("profile", {})
        world.expire()
    assert seen == [(True, True)] * 3 + [(True, True)] * 2
    assert len(world.asked) == 3


async def test_after_a_restart_the_stored_pair_is_used(world: World, processes: Processes) -> None:
    """Died between stored and used: the next process uses the stored access token, and the stored refresh token later."""
    await processes.start().call("profile", {})
    again = processes.start()
    await again.call("profile", {})
    assert len(world.asked) == 1
    world.expire()
    await again.call("profile", {})
    assert [asked["refresh_token"] for asked in world.asked] == [FIRST, "refreshtoken1"]


async def test_a_process_that_died_with_the_only_pair(world: World, processes: Processes) -> None:
    """Died between received and stored: the next one waits for the claim to run out, tries, and says what a person must do."""
    dying = open_store(processes.url)
    client = processes.start(store=dying)
    answer = asyncio.Event()
    world.holds = [answer]
    call = asyncio.create_task(client.call("crm.deal.add", {"id": "x"}))
    await until(lambda: len(world.asked) == 1)
    dying.close()  # the pair will come, and nothing can be stored any more
    answer.set()
    with pytest.raises(NotSent, match="database"):
        await call

    began = processes.hour.now
    with pytest.raises(NoAccess, match="authorized anew") as caught:
        await processes.start().call("crm.deal.add", {"id": "x"})
    assert caught.value.code == "invalid_grant"
    assert timedelta(seconds=10) < processes.hour.now - began < timedelta(seconds=60)
    assert world.executed == {}


async def test_a_pair_that_could_not_be_stored_is_kept_for_the_next_try(
    world: World, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that fails for a while loses no pair: nothing is sent, then the same pair is stored and used."""
    store = open_store(processes.url)
    client = processes.start(store=store)
    healthy, swaps = store.swap_value, []

    def failing(key: str, expected: str | None, value: str) -> bool:
        swaps.append(value)
        if len(swaps) == 1:
            return healthy(key, expected, value)  # the claim
        raise StoreUnwritable("disk full")

    monkeypatch.setattr(store, "swap_value", failing)
    with pytest.raises(NotSent, match="database"):
        await client.call("crm.deal.add", {"id": "x"})
    assert (world.rest, len(world.asked)) == ([], 1)
    monkeypatch.setattr(store, "swap_value", healthy)
    await client.call("crm.deal.add", {"id": "x"})
    assert (world.executed, len(world.asked)) == ({"x": 1}, 1)
    assert "refreshtoken1" in processes.stored()


async def test_the_setting_wins_over_the_stored_chain(world: World, processes: Processes) -> None:
    """Another refresh token in the settings begins anew; the one from before finds its own chain again."""
    await processes.start().call("profile", {})
    world.refreshable.add("refreshtokennew")
    await processes.start(first="refreshtokennew").call("profile", {})
    assert [asked["refresh_token"] for asked in world.asked] == [FIRST, "refreshtokennew"]
    world.expire()
    await processes.start().call("profile", {})
    assert world.asked[-1]["refresh_token"] == "refreshtoken1"


@pytest.mark.parametrize(
    ("step", "error", "says", "asked"),
    [
        ((400, {"error": "invalid_grant", "error_description": "Invalid refreshtoken0"}), NoAccess, "BITRIX_OAUTH_REFRESH_TOKEN", 1),
        ((401, {"error": "invalid_client"}), NoAccess, "BITRIX_OAUTH_CLIENT_SECRET", 1),
        ((200, {"error": "PAYMENT_REQUIRED"}), NoAccess, "run out", 1),
        ((403, {"error": "invalid_scope"}), NoAccess, "rights", 1),
        ((400, {"error": "something.new"}), NoAccess, "refuses to renew", 1),
        ((500, {"error": "server_error"}), NotSent, "holds no pair", 3),
        ((200, "<html>"), NotSent, "holds no pair", 3),
        ((200, {"access_token": "accesstoken1"}), NotSent, "holds no pair", 3),
        ((200, {"access_token": "accesstoken1", "refresh_token": "two words"}), NotSent, "holds no pair", 3),
        ((302, {}), NotSent, "holds no pair", 3),
        ((429, {"error": "too_many_requests"}), NotSent, "holds no pair", 3),
        ((408, {"error": "request_timeout"}), NotSent, "holds no pair", 3),
        (httpx.ConnectError("refused"), NotSent, "not reached: refused", 3),
        (httpx.ReadTimeout(f"?refresh_token={FIRST}"), NotSent, "not reached", 3),
    ],
)
async def test_a_refused_renewal(  # the columns of the table
    world: World, processes: Processes, caplog: pytest.LogCaptureFixture, step: Any, error: type[BitrixError], says: str, asked: int
) -> None:
    """Nothing is executed, the sentence says what to do, only what may pass is tried again, and no secret shows anywhere."""
    caplog.set_level(logging.DEBUG)
    client = processes.start()
    world.server_does = [step] * asked
    with pytest.raises(NotSent, match=says) as caught:
        await client.call("crm.deal.add", {"id": "x"})
    assert type(caught.value) is error
    assert (len(world.asked), world.rest) == (asked, [])
    assert not leaks(caught.value)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("bitrix")]
    assert not any(secret in line for line in ours for secret in SECRETS)
    assert len(ours) == (error is NoAccess)
    assert len(processes.hour.slept) == (1 if error is NoAccess else 2)  # one look at the others' work, or the pauses between tries


async def test_a_lasting_refusal_is_not_asked_for_again_at_every_call(world: World, processes: Processes) -> None:
    """Within a minute the refusal is told from memory; then the server is asked again."""
    client = processes.start()
    world.server_does = [(200, {"error": "PAYMENT_REQUIRED"})]
    for _ in range(5):
        with pytest.raises(NoAccess) as caught:
            await client.call("profile", {})
        assert caught.value.code == "PAYMENT_REQUIRED"
    assert len(world.asked) == 1
    processes.hour.now += RENEWAL_PAUSE
    await client.call("profile", {})
    assert len(world.asked) == 2


@pytest.mark.parametrize("when", ["before it was spent", "after it was spent"])
async def test_a_lost_answer_of_the_server(world: World, processes: Processes, when: str) -> None:
    """The renewal is repeated with the same refresh token; if that was spent meanwhile, a person must act."""
    client = processes.start()
    if when == "before it was spent":
        world.server_does = [httpx.ReadError("reset")]
        await client.call("crm.deal.add", {"id": "x"})
    else:
        world.server_does = ["spend and drop"]
        with pytest.raises(NoAccess, match="authorized anew"):
            await client.call("crm.deal.add", {"id": "x"})
    assert [asked["refresh_token"] for asked in world.asked] == [FIRST, FIRST]
    assert world.executed == ({"x": 1} if when == "before it was spent" else {})


@pytest.mark.parametrize(
    "answer",
    [
        (401, {"error": "NO_AUTH_FOUND"}),
        (403, {"error": "expired_token"}),
        (401, {"error": "invalid_token"}),
        (403, {"error": "insufficient_scope"}),
    ],
)
async def test_nothing_else_renews(world: World, processes: Processes, answer: Any) -> None:
    """Only 401 expired_token is a reason to renew."""
    client = processes.start()
    await client.call("profile", {})
    world.portal_says = [answer]
    with pytest.raises(Refused):
        await client.call("crm.deal.add", {"id": "x"})
    assert (len(world.asked), len(world.rest)) == (1, 2)


async def test_expired_again_is_the_answer(world: World, processes: Processes) -> None:
    """A call is sent again once: a portal that calls every token expired is not asked for ever."""
    client = processes.start()
    world.portal_says = [EXPIRED, EXPIRED, EXPIRED]
    with pytest.raises(Refused) as caught:
        await client.call("crm.deal.add", {"id": "x"})
    assert (caught.value.code, len(world.rest), len(world.asked)) == ("expired_token", 2, 2)


async def test_an_answer_lost_after_the_renewal_is_unknown(world: World, processes: Processes) -> None:
    """The second sending of a write is a sending like any other: no third one after a doubtful answer."""
    client = processes.start()
    world.portal_says = [EXPIRED, (502, "<html>")]
    with pytest.raises(OutcomeUnknown):
        await client.call("crm.deal.add", {"id": "x"})
    assert len(world.rest) == 2


async def test_a_caller_that_gives_up_does_not_end_the_renewal(world: World, processes: Processes) -> None:
    """Cancelled or out of time, a caller leaves the renewal to the others, and closing waits for its pair."""
    client = processes.start(limiter=Limiter.create_unlimited())
    answer = asyncio.Event()
    world.holds = [answer]
    calls = [asyncio.create_task(client.call("crm.deal.add", {"id": str(number)})) for number in range(3)]
    with pytest.raises(NotSent, match="in time"):
        await client.call("crm.deal.add", {"id": "late"}, send_within=0.01)
    calls[0].cancel()
    answer.set()
    assert [answer.result for answer in await asyncio.gather(*calls[1:])] == ["1", "2"]
    assert (world.executed, len(world.asked)) == ({"1": 1, "2": 1}, 1)

    world.expire()
    last_answer = asyncio.Event()
    world.holds = [last_answer]
    last = asyncio.create_task(client.call("profile", {}))
    await until(lambda: len(world.asked) == 2)
    last.cancel()
    asyncio.get_running_loop().call_later(0.01, last_answer.set)
    await client.aclose()
    assert "refreshtoken2" in processes.stored()
    with pytest.raises(NotSent, match="closed"):
        await client.call("profile", {})


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("server", [[], ["spend nothing", "spend nothing"]])
async def test_a_pair_of_an_overtaken_process_is_not_lost(
    world: World, processes: Processes, order: tuple[int, int], server: list[str]
) -> None:
    """Slower than its claim lasts: the pair that is stored first is everybody's, whether the server gave one or two."""
    world.server_does = list(server)
    slow, other = processes.start(), processes.start()
    answers = [asyncio.Event(), asyncio.Event()]
    world.holds = list(answers)
    first = asyncio.create_task(slow.call("crm.deal.add", {"id": "1"}))
    await until(lambda: len(world.asked) == 1)
    second = asyncio.create_task(other.call("crm.deal.add", {"id": "2"}))
    await until(lambda: len(world.asked) == 2)  # the other waited for the claim, then renewed with the same token
    for number in order:
        answers[number].set()
        await (first, second)[number]
    assert world.executed == {"1": 1, "2": 1}
    assert [asked["refresh_token"] for asked in world.asked] == [FIRST, FIRST]
    assert {json.loads(request.content)["auth"] for request in world.rest} == {"accesstoken1"}


async def test_a_webhook_is_no_application() -> None:
    """A webhook's body is sent as it is, and an expired token is the portal's last word."""
    sent: list[httpx.Request] = []

    def portal(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(EXPIRED[0], json=EXPIRED[1])

    auth = Webhook("https://portal.example/rest/1/code/")
    async with BitrixClient(auth, limiter=Limiter.create_unlimited(), transport=httpx.MockTransport(portal)) as client:
        with pytest.raises(Refused):
            await client.call("profile", {"a": 1})
    assert ([request.content for request in sent], client.is_application) == ([b'{"a":1}'], False)
    assert await auth.renew(Grant()) == Grant()


@pytest.mark.parametrize("portal", ["", "company.bitrix24.ru/rest", "http://company.bitrix24.ru", "https://u:p@x.ru", "a b", "x.ru?y"])
def test_wrong_portals(portal: str) -> None:
    """Only the plain address of a portal is taken."""
    server = TokenServer(ID, SecretStr(KEY))
    with pytest.raises(ValueError, match="must look like"):
        Application(portal, SecretStr(FIRST), server=server, store=None, now=lambda: datetime.now(UTC))  # type: ignore[arg-type]


@pytest.mark.parametrize("base", ["", "http://oauth.example", "ftp://127.0.0.1", "oauth.bitrix.info"])
def test_wrong_servers(base: str) -> None:
    """Secrets go over https only."""
    with pytest.raises(ValueError, match="must look like"):
        TokenServer(ID, SecretStr(KEY), base=base)


@pytest.mark.req("S004-A12")
async def test_tokens_are_masked_wherever_they_are_written(processes: Processes) -> None:
    """Bodies, the renewal's address, what is stored, and what Python shows of the parts."""
    client = processes.start()
    await client.call("profile", {})
    body = Grant(SecretStr("accesstoken1")).sign(b'{"a":1}').decode()
    address = str(httpx.URL("https://oauth.bitrix.info/oauth/token/", params={"client_secret": KEY, "refresh_token": FIRST}))
    for text in (body, address, processes.stored(), json.dumps({"pair": json.loads(processes.stored())["pair"]})):
        masked = mask(text)
        assert masked != text
        assert not any(secret in masked.replace("refresh_token", "") for secret in SECRETS), masked
    shown = "".join(repr(part) for part in (client, client._auth, vars(client._auth), vars(client._home)))
    assert not any(secret in shown for secret in SECRETS)
