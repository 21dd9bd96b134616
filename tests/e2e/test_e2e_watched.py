"""One day of the bot as a process of its own, watched: figures that agree with the portal's ledger, one trace through all parties, nobody's words."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families

from state.sql import build_sqlite_url, open_reader
from state.sql.store import SqlStore
from tests.e2e.e2e_kit import PEOPLE, World, change_sum, opened_world, plan, step
from tests.e2e.e2e_people import Person, Shown, until
from tests.e2e.e2e_servers import Servers

pytestmark = pytest.mark.long  # processes of its own

TOKEN = "prometheus-of-the-test"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PHONE = "+7 916 555-44-33"
FIRST_ID = 19_000
"""Below those of the worlds of single tests."""

Calls = list[dict[str, Any]]
Figures = dict[tuple[str, ...], float]


@dataclass(frozen=True)
class Day:
    """What was seen of it."""

    world: World
    flood: set[int]
    """The status codes of fifty scrapes at once, while a person was answered."""
    figures: Figures
    text: str
    prompts: int
    """How many the model had answered when the figures were read."""
    calls: Calls
    strangers: list[int]
    parties: dict[str, Any]
    asked: Calls
    """All prompts of the day."""
    log: str


@pytest.fixture(scope="module")
def day(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Day:
    """Lived once, looked at by every test."""
    return asyncio.run(lived(servers, tmp_path_factory.mktemp("day")))


async def lived(servers: Servers, folder: Path) -> Day:
    async with opened_world(servers, folder, FIRST_ID) as world:
        async with watched_bot(world) as http:
            flood = await answered_in_a_flood(world, http)
            await talk(world)
            figures = await until(lambda: counted(http), "the figures of the conversation")
            text, _ = await scraped(http)
            strangers = [(await http.get(path)).status_code for path in ("/metrics", "/healthz", "/readyz", "/nothing")]
            parties = (await http.get("/readyz", headers=BEARER)).json()["parties"]
            prompts, calls = len([item for item in await world.prompts() if item["fault"] is None]), await world.calls()
            await world.break_model("500", times=10)
            asked = await world.boris.say("покажи мои задачи")
            await until(lambda: world.boris.seen(asked), "an answer without the model")
        log = (folder / "log.jsonl").read_text(encoding="utf-8")
        return Day(world, flood, figures, text, prompts, calls, strangers, parties, await world.prompts(), log)


@asynccontextmanager
async def watched_bot(world: World) -> AsyncIterator[httpx.AsyncClient]:
    """`sdelka run` that can be scraped; its log of every level is JSON on stdout."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {"http_port": port, "metrics_token": TOKEN, "log_format": "json", "log_level": "DEBUG"}
    async with (
        world.process("run", **settings) as process,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=20) as http,
    ):
        assert process.stdout is not None
        log = asyncio.ensure_future(process.stdout.read())

        async def ready() -> bool:
            try:
                return (await http.get("/readyz", headers=BEARER)).is_success
            except httpx.TransportError:
                return False

        await until(ready, "the bot ready", seconds=90)
        yield http
        process.terminate()
        (world.folder / "log.jsonl").write_bytes(await log)


async def scraped(http: httpx.AsyncClient) -> tuple[str, Figures]:
    """The text, and each sample by its name and label values."""
    answer = await http.get("/metrics", headers=BEARER)
    assert answer.is_success, answer.text
    found = {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    return answer.text, found


async def counted(http: httpx.AsyncClient) -> Figures:
    """The figures once all was counted and delivered; {} before."""
    _, found = await scraped(http)
    waiting = found.get(("sdelka_confirmations_waiting",), 0) == 1 and found.get(("sdelka_turns_total", "waiting"), 0) >= 3
    return found if waiting and not found["sdelka_inbox_depth", "turn"] and not found["sdelka_outbox_depth", "tg"] else {}


async def card_of(person: Person, text: str) -> Shown:
    asked = await person.say(text)

    async def there() -> list[Shown]:
        return [message for message in await person.seen(asked) if message.is_card]

    return (await until(there, f"a card for {person.name}"))[0]  # type: ignore[no-any-return]


async def answered_in_a_flood(world: World, http: httpx.AsyncClient) -> set[int]:
    """A read, while fifty scrape at once."""
    flood = [asyncio.ensure_future(http.get("/metrics", headers=BEARER)) for _ in range(50)]
    await world.boris.say("покажи мои сделки")
    await until(world.boris.seen, "the list")
    return {answer.status_code for answer in await asyncio.gather(*flood)}


async def decide(world: World, card: Shown, button: str) -> None:
    """Press a button of a card, and let its turn go on to its end before anything else is scripted."""
    before = len(await world.prompts())
    await world.script(plan(say="Хорошо."))
    await world.boris.press(card.number, card.data(button))

    async def gone_on() -> bool:
        return len(await world.prompts()) == before + 1

    await until(gone_on, "the turn gone on")


async def talk(world: World) -> None:
    """A change approved and one denied, a refused deletion, a card that stays open."""
    card = await card_of(world.boris, "подними сумму сделки 481 до 150 000")
    await decide(world, card, "Выполнить")
    await world.script(plan(change_sum(481, 160_000)))
    denied = await card_of(world.boris, f"клиент Романова, {PHONE}: пусть будет 160 000")
    await decide(world, denied, "Отклонить")
    await world.script(plan(step("crm.deal.delete", {"id": 481})), plan(say="Удалять нельзя."))
    await world.boris.ask("удали сделку 481")
    await world.script(plan(change_sum(481, 170_000)))
    await card_of(world.boris, "и ещё 170 000")


@pytest.mark.req("S004-58")
def test_the_figures_of_a_conversation_are_those_of_the_ledger(day: Day) -> None:
    """Calls, cards, tokens and queues as they were; a stranger sees none of them."""
    found = day.figures
    writes = [call for call in day.calls if call["name"] == "crm.deal.update" and call["applied"]]
    assert len(writes) == found["sdelka_calls_total", "write", "succeeded"] == 1
    assert [found["sdelka_confirmations_total", state] for state in ("requested", "approved", "denied")] == [3, 1, 1]
    assert found["sdelka_gate_refused_total", "gate-delete"] == 1
    assert found["sdelka_effects", "requested"] == 1
    assert sum(value for key, value in found.items() if key[0] == "sdelka_iterations_total") == day.prompts
    assert sum(value for key, value in found.items() if key[0] == "sdelka_model_answer_seconds_count") == day.prompts
    assert sum(value for key, value in found.items() if key[0] == "sdelka_model_tokens_total") > 0
    assert found["sdelka_limiter_wait_seconds_count",] >= len([call for call in day.calls if call["http"] != "batch"])
    assert day.strangers == [401, 200, 200, 404]
    assert found["sdelka_http_requests_total", "GET", "/readyz", "200"] >= 1
    assert {name: one["state"] for name, one in day.parties.items()} == dict.fromkeys(
        ("telegram", "database", "workers", "portal", "model", "disk"), "ok"
    )


def test_the_figures_name_nobody(day: Day) -> None:
    """Of names, ids, texts, phone numbers and secrets nothing."""
    labels = "\n".join(" ".join(key) for key in day.figures)
    assert not [word for word in private(day.world) if word in (labels if word.isdecimal() else day.text)]
    numbers = {float(person.number) for person in day.world.people.values()}
    assert not [key for key, value in day.figures.items() if value in numbers and key[0].startswith("sdelka_")]
    assert day.text.count("\n") < 900


def private(world: World) -> Iterator[str]:
    """What may stand in no figure."""
    yield from ("Роман", "Ромашк", "Борис", "Смирнов", PHONE, "555-44", "crm.deal", "481", "150000", "150 000", "tg:", TOKEN)
    yield from (name for _, name, _, _ in PEOPLE)
    yield from (str(person.number) for person in world.people.values())
    yield world.servers.webhook.rstrip("/").rsplit("/", 1)[-1]
    yield str(world.folder)


async def test_one_trace_goes_through_telegram_turn_model_portal_and_audit(day: Day) -> None:
    """The id of the input stands in the log, in the audit record, at the model and in the portal's ledger; a decision has its own.

    So has the input that lets a turn go on after its card.
    """
    world = day.world
    reader = open_reader(build_sqlite_url(world.folder / "state" / "sdelka.db"))
    turns = [event.data["turn_id"] for event in reader.read_events(f"session:{world.boris.session}") if event.type == "MessageReceived"]
    goes_on = find_goes_on(reader)
    reader.close()
    records = world.audit()
    changing, broken = turns[1], turns[-1]
    decided = next(record for record in records if record["type"] == "decision")
    iterations = [record for record in records if record["type"] == "iteration"]
    (change,) = [call for call in day.calls if call["name"] == "crm.deal.update"]

    assert list(goes_on.values()) == [changing, turns[2]]  # one card was approved, one denied, and the third waits
    assert {(record["trace_id"], record["turn_id"]) for record in iterations} == {(turn, turn) for turn in turns} | goes_on.items()
    assert {prompt["trace"] for prompt in day.asked} == {*turns, *goes_on}
    assert changing in {call["trace"] for call in day.calls if call["name"] == "crm.deal.get"}
    assert change["trace"] == decided["trace_id"]
    assert change["trace"] not in turns
    assert "turn_degraded" in [line["action"] for line in lines(day) if line.get("trace_id") == broken]
    code, shown = await world.command("logs", "show", "--trace", decided["trace_id"][-8:], "--json")
    assert (code, [orjson.loads(line)["type"] for line in shown.splitlines()]) == (0, ["decision"])
    assert "crm.deal.update" in (await world.command("journal", "why", changing))[1]


def find_goes_on(store: SqlStore) -> dict[str, str]:
    """The id of each input that let a turn go on → the turn, in their order."""
    with store._database.read() as transaction:
        rows = transaction._cursor.execute("SELECT id, source FROM inbox WHERE kind = 'go_on' ORDER BY pos").fetchall()
    return {row_id: source.split(":")[1] for row_id, source in rows}


def lines(day: Day) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in day.log.splitlines()]


def test_the_log_is_json_with_an_action_word_in_each_line_and_nobodys_words(day: Day) -> None:
    """From the first line to the last, those of the libraries too."""
    found = lines(day)
    assert found
    assert all(line["action"] and re.fullmatch(r"[\d-]+T[\d:.]+Z", line["time"]) for line in found)
    assert not [word for word in ("Роман", PHONE, "555-44", "Ромашк") if word in day.log]
    assert day.world.servers.webhook.rstrip("/").rsplit("/", 1)[-1] not in day.log


def test_many_scrapes_at_once_hold_up_no_turn(day: Day) -> None:
    """A person is answered while fifty scrape, and every scrape is answered too."""
    assert day.flood == {200}
