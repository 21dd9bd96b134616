"""The scenes of the houses of the corpus. They wrote `tests/corpus/house_v1` once, as they were at the commit that added it: it stays.

Later houses (`make_house_v2.py`) play the same scenes with the product of their day, and more. It drove the product of that day: a life of two days, one person erased in between, and a death in the middle of two calls. The moments
are told by a clock of its own, ids follow that clock; keys and nonces are random, so no two runs write the same bytes.
"""

import asyncio
import gzip
import json
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

sys.path.append(str(Path(__file__).resolve().parents[2]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))

import state.clock
from orchestrator.domain.errors import ModelClientError
from orchestrator.features.people.access_removal import build_start_row
from orchestrator.features.people.registry import build_proof, create_token, seal_name
from orchestrator.sessions.audit import Audit
from state.audit_log.interaction_log import InteractionLogger
from state.clock import format_iso, measure_mark_age
from tests.corpus.house_kit import (
    CHAT,
    CUSTOMER,
    FIRST_DAY,
    GROUP,
    OPS,
    SITE,
    TERMINAL,
    House,
    HousePortal,
    opened_house,
    ordered,
    told_by_commands,
    told_of,
)
from tests.fixed_clock import FixedClock
from tests.unit.spine_kit import raise_sum, reply, step, until
from tests.unit.spine_portal import Held, cut, lost, says

LOG_LIMIT, LOG_KEEP = 40_000, 10
POLICY = """# The rules of the house, in the form of their day.
open_kinds: [schedule]
four_eyes_above: 5000000
currency: RUB
rates: {USD: 95}
rules:
  - {entity: deal, field: OPPORTUNITY, above: 2000000, role: manager, then: lead, why: Сделки дороже 2 млн подтверждает руководитель}
sum_jump: 10
caps:
  records_per_batch: 20
  writes_per_day: 50
budget:
  people: {"employee:8": {tokens_per_month: 150}}
undo_for: 100h
remind_lead_after: 2h
event_handler_hosts: [hooks.example.com]
"""
ACCESS = """# Who may use the bot, in the form of its day.
people:
  - {telegram_id: 1007, name: Анна Ковалёва, bitrix_user_id: 7, lead: 1006, time_zone: Europe/Moscow}
  - {telegram_id: 1008, name: Борис Седов, bitrix_user_id: 8, lead: 1006, time_zone: Europe/Moscow, mode: full, sees: [8]}
  - {telegram_id: 1006, name: Вера Белова, bitrix_user_id: 6, role: lead, time_zone: Asia/Omsk, deputy: 1001, away: 2026-11-01}
  - {telegram_id: 1001, name: Dina Ilyina, bitrix_user_id: 1, role: admin, time_zone: Europe/Moscow, locale: en, notify: none}
http_tokens:
  - {name: site, bitrix_user_id: 7, sees: all, customers: true}
"""
Scene = Callable[[House], Awaitable[None]]
Lives = tuple[Sequence[Scene], Sequence[Scene], Sequence[Scene]]
ELM = {"fields": {"TITLE": "Вяз"}}
AWAY = ACCESS.replace("2026-11-01", "2026-11-20")
"""The same once the lead is away."""
SECRET = "Захарова-Уварова тайна"
"""What only the erased person wrote."""


class HouseClock(FixedClock):
    """Of a machine whose marks no other machine understands."""

    def mark(self) -> str:
        return f"house {self._elapsed.total_seconds():.3f}"

    def measure_since(self, mark: str) -> timedelta | None:
        return measure_mark_age(mark, "house", self._elapsed.total_seconds())


@contextmanager
def by_clock(clock: FixedClock) -> Iterator[None]:
    """Ids and commands go by the clock of the house; each id is a millisecond younger than the one before."""
    last = 0

    def time_ns() -> int:
        nonlocal last
        last = max(last + 1, int(clock.now().timestamp() * 1000))
        return last * 1_000_000

    fake = SimpleNamespace(**{name: getattr(time, name) for name in dir(time) if not name.startswith("__")} | {"time_ns": time_ns})
    with patch.object(state.clock, "time", fake), patch.object(state.clock.SystemClock, "now", lambda _: clock.now()):
        yield


def update(fields: dict[str, Any], number: int = 481) -> dict[str, Any]:
    """A step that changes a deal."""
    return step("crm.deal.update", {"id": number, "fields": fields})


async def one_card(house: House, who: Any, text: str, *steps: Any, session: str = CHAT, told: bool = True) -> dict[str, Any]:
    """What somebody asks for, as the card that comes of it."""
    before = {card["confirmation_id"] for card in await house.cards(session)}
    await house.says(who, text, reply(*steps), session=session)
    (card,) = [card for card in await house.cards(session) if card["confirmation_id"] not in before]
    if told:
        await house.told()
    return card


async def people_join(house: House) -> None:
    """Two join by links, a third link waits, a wrong one is refused, a stranger knocks; people set what they want."""
    for number, account, name in ((9, 1009, "Захар"), (10, 1010, "Глеб"), (6, 0, "")):
        token = create_token()
        proof = build_proof(token)
        body = {"fingerprint": proof.fingerprint, "bitrix_user_id": number, "role": "manager", "sealed_name": seal_name(name, proof)}
        body["expires_at"] = format_iso(house.clock.now() + timedelta(hours=200))
        await house.work(house.row("invite", body, {"key": "cli:ops", "name": "ops"}, "access"))
        if account:
            brought = {"token_id": proof.fingerprint, "unlock": proof.unlock, "locale": "ru"}
            await house.work(house.row("join", brought, {"key": f"tg:{account}", "name": name}, "access"))
    wrong = build_proof("wrong")
    brought = {"token_id": wrong.fingerprint, "unlock": wrong.unlock, "locale": "en"}
    await house.work(house.row("join", brought, {"key": "tg:666", "name": "Stranger"}, "access"))
    await house.work(house.row("knock", {}, {"key": "tg:667", "name": "Лена (@lena)"}, "access"))
    await house.access.reload_registry(house.store)
    wishes = [(1007, "digest", "on"), (1006, "evening", "on"), (1010, "time_zone", "Asia/Vladivostok"), (1008, "alerts", "off")]
    for who, name, value in wishes:
        await house.work(house.row("preference", {"preference": name, "value": value}, house.actor(who), "access"))
    await house.access.reload_registry(house.store)
    await house.told()


async def erased_talks(house: House) -> None:
    """All that is stored of a person who is erased afterwards: words, a change, a denial with its reason, a long list, a reminder."""
    zahar = house.actor(1009)
    await house.says(
        zahar,
        f"заведи сделку {SECRET}",
        reply(step("crm.deal.add", {"fields": {"TITLE": f"{SECRET} сделка"}})),
        reply(text=f"Завела сделку {SECRET}."),
    )
    await house.says(zahar, f"покажи всё, {SECRET}", reply(step("crm.deal.list", {})), reply(text="Вот они."))
    card = await one_card(house, zahar, f"спроси и заведи {SECRET}", wanted(f"{SECRET} вторая"), session=zahar.key)
    await house.work(house.pressed(zahar, card, approve=False, reason=f"{SECRET} против"))
    await house.told()


def wanted(title: str) -> dict[str, Any]:
    """A step that adds a deal only when a person agrees."""
    return step("crm.deal.add", {"fields": {"TITLE": title}}, requires_confirmation=True)


async def anna_works(house: House) -> None:
    """Free changes, cards of many ends, a long list; what she says is changed, stopped and begun anew."""
    anna, vera = house.actor(1007), house.actor(1006)
    await house.says(anna, "заведи сделку Осина", reply(step("crm.deal.add", {"fields": {"TITLE": "Осина"}})), reply(text="Завела."))
    await house.says(anna, "покажи мои сделки", reply(step("crm.deal.list", {})), reply(text="Вот они."))
    card = await one_card(house, anna, "подними сумму сделки 481 до 1 200 000", raise_sum(1_200_000))
    await house.work(house.pressed(anna, card))
    card = await one_card(house, anna, "сумма сделки 481 теперь 1 300 000", raise_sum(1_300_000))
    await house.work(house.pressed(anna, card, approve=False, reason="сначала договор"))
    card = await one_card(house, anna, "сумма сделки 481 теперь 1 400 000", raise_sum(1_400_000))
    house.portal.will("crm.deal.update", says(400, {"error": "ACCESS_DENIED", "error_description": "Access denied"}))
    await house.work(house.pressed(anna, card))
    card = await one_card(house, anna, "сумма сделки 482 теперь 60 000", raise_sum(60_000, 482))
    house.portal.records["deal", 482]["OPPORTUNITY"] = "55000.00"
    await house.work(house.pressed(anna, card))  # the world has changed: another card takes its place
    (card,) = await house.cards()
    await house.work(house.pressed(anna, card))
    card = await one_card(house, anna, "сумма сделки 481 теперь 2 600 000", raise_sum(2_600_000))
    await house.work(house.pressed(anna, card))  # it is for a lead
    await house.work(house.pressed(vera, card, session=CHAT))
    await house.told()


async def anna_edits(house: House) -> None:
    """A value changed on a card, words changed after they were sent, a stop, a refused step, a model that fails, a voice message."""
    anna = house.actor(1007)
    card = await one_card(house, anna, "сумма сделки 482 теперь 61 000", raise_sum(61_000, 482))
    await house.work(house.button(anna, "edit", card["confirmation_id"]))
    (asked,) = [row for row in await house.told() if row.kind == "edit"]
    answer = {"confirmation_id": card["confirmation_id"], "ask": asked.body["ask"], "text": "62000"}
    await house.work(house.row("edit_value", answer, anna))
    (card,) = await house.cards()
    await house.work(house.pressed(anna, card))
    await house.says(anna, "удали сделку 482", reply(step("crm.deal.delete", {"id": 482})), reply(text="Удалять нельзя."), message_id=77)
    await house.work(house.row("edited", {"message_id": 77, "text": "удали сделку 483"}, anna))
    await house.says(anna, "что с погодой", ModelClientError("Модель не отвечает."))
    await house.work(house.command(anna, "stop"))
    recording = {"file_id": "перепиши комментарий сделки 481", "seconds": 3, "size": 60, "forwarded": False, "message_id": 78}
    house.model.will(reply(update({"COMMENTS": "новое слово"})))
    await house.work(house.row("voice", recording, anna, lane="turn"))
    await house.told()


async def others_talk(house: House) -> None:
    """A group with a thread, a form of the site, a terminal: each with what its kind of session has."""
    boris = house.actor(1008)
    card = await one_card(house, boris, "сумма сделки 500 теперь 710 000", raise_sum(710_000, 500), session=GROUP)
    await house.work(house.pressed(boris, card, session=GROUP))
    await house.work(house.command(boris, "new", session=GROUP))
    await house.says(boris, "сумма сделки 500 теперь 720 000", reply(raise_sum(720_000, 500)), session=GROUP)
    await house.says(CUSTOMER, "Здравствуйте, нужны окна", reply(wanted("Окна")), session=SITE, request="r1")
    (card,) = await house.cards(SITE)
    forged = house.pressed(CUSTOMER, {**card, "nonce": "00000000"}, session=SITE, via="http")
    await house.work(forged)
    await house.says(
        OPS, "заведи сделку Клён", reply(step("crm.deal.add", {"fields": {"TITLE": "Клён"}})), reply(text="Готово."), session=TERMINAL
    )
    await house.work(house.command(OPS, "status", session=TERMINAL))
    await house.told()


async def portal_changes(house: House) -> None:
    """The bot listens, a deal is changed in the portal, its owner is told."""
    session = await house.orchestrator.start_feature("portal_start")
    await house.work()
    for number, amount in ((600, "77.00"), (600, "78.00"), (601, "79.00")):
        house.portal.records["deal", number].update(OPPORTUNITY=amount, MODIFY_BY_ID="8")
        await house.work(posted(house, session, number))
        house.clock.advance(timedelta(seconds=20))
        await house.work()
    await house.told()


def posted(house: House, session: str, number: int) -> Any:
    """An event of the portal."""
    ts = int(house.clock.now().timestamp())
    body = {"event": "ONCRMDEALUPDATE", "target": f"deal:{number}", "action": "update", "ts": ts, "member_id": "m"}
    return house.row("portal_event", body, {"key": "portal", "name": "portal"}, session)


async def reminded(house: House) -> None:
    """Reminders: one that comes while the bot runs, one that comes after its death, one far away."""
    anna = house.actor(1007)
    for at in ("2026-11-18T14:00:00+03:00", "2026-11-20T23:00:00+03:00", "2026-12-24T11:00:00+03:00"):
        wish = step("reminder.add", {"at": at, "text": "позвонить Ромашке"})
        card = await one_card(house, anna, f"напомни {at} позвонить Ромашке", wish)
        await house.work(house.pressed(anna, card))
    await house.told()


async def begin(house: House) -> None:
    """As the bot begins: who works in the portal is asked, rounds are made; logs are full soon."""
    house.orchestrator.tools = small_logs(house)
    await house.work(build_start_row(house.clock.now()))
    await house.make_rounds()


def small_logs(house: House) -> Any:
    """The tools with logs that are full soon."""
    logger = InteractionLogger(house.folder / "logs", clock=house.clock, limit=LOG_LIMIT, keep=LOG_KEEP)
    return replace(house.orchestrator.tools, audit=Audit(logger, house.clock))


async def doubts(house: House) -> None:
    """A call of unknown outcome that is settled later, and a name with two meanings of which one is chosen."""
    boris = house.actor(1008)
    card = await one_card(house, boris, "сумма сделки 500 теперь 730 000", raise_sum(730_000, 500), session=boris.key)
    house.portal.will("crm.deal.update", lost)
    await house.work(house.pressed(boris, card))
    house.clock.advance(timedelta(seconds=90))
    await house.work()
    await house.says(boris, "сумма сделки Двойник теперь 3000", reply(update({"OPPORTUNITY": 3000}, "@deal:Двойник")))
    question = (await house.events("NameAsked", session=boris.key))[-1].data["question_id"]
    await house.work(house.row("message", {"answers": question, "option": 0, "origin": "choice"}, boris, lane="turn"))
    await house.told()


async def frozen_and_released(house: House) -> None:
    """Writes are frozen while an approved card is checked, so that it waits again; a second press lets them start."""
    anna, dina = house.actor(1007), house.actor(1001)
    card = await one_card(house, anna, "сумма сделки 615 теперь 65 000", raise_sum(65_000, 615))
    held = Held()
    house.portal.will("crm.deal.get", held)
    await house.orchestrator.receive([house.pressed(anna, card)])
    await held.arrived.wait()
    assert ordered(house.folder, "freeze", "--reason", "проверка остатков").exit_code == 0
    held.release.set()
    await house.work()
    assert await house.events("ConfirmationReopened")
    await house.work(house.command(dina, "unfreeze"))
    (button,) = [action for row in await house.told() for action in row.body.get("actions", ()) if action["words"][0] == "unfreeze"]
    await house.work(house.button(dina, *button["words"]))
    (card,) = await house.cards()
    await house.work(house.pressed(anna, card))
    await house.told()


async def stopped(house: House) -> None:
    """A request is stopped while the model thinks, and the one behind it is dropped."""
    anna = house.actor(1007)
    house.model.gate = asyncio.Event()
    house.model.will(reply(text="Не нужно."))
    await house.orchestrator.receive([house.message(anna, "посчитай всё")])
    await until(lambda: len(house.model.prompts) > 0 and not house.model.script)
    house.clock.advance(timedelta(seconds=9))
    await house.orchestrator.receive([house.message(anna, "и ещё раз")])
    house.clock.advance(timedelta(seconds=9))
    await house.orchestrator.receive([house.command(anna, "stop")])
    await until_events(house, "StopAsked")
    house.model.gate.set()
    await house.work()
    house.model.gate = None
    await house.told()


async def until_events(house: House, *types: str, session: str = CHAT, before: int = 0) -> None:
    async def there() -> bool:
        return len(await house.events(*types, session=session)) > before

    await until(there)


async def leads_decide(house: House) -> None:
    """A card denied with a reason, one that waits for the lead's words, one that waits for two people, one that another lead looked for."""
    anna, vera, dina = house.actor(1007), house.actor(1006), house.actor(1001)
    card = await one_card(house, anna, "сумма сделки 602 теперь 2 100 000", raise_sum(2_100_000, 602))
    await house.work(house.button(vera, "why", card["confirmation_id"], card["nonce"], "1007"))
    await house.work(house.row("reason", {"text": "дорого", "message_id": 11}, vera))
    card = await one_card(house, anna, "сумма сделки 603 теперь 2 200 000", raise_sum(2_200_000, 603))
    await house.work(house.button(vera, "why", card["confirmation_id"], card["nonce"], "1007"))
    await one_card(house, anna, "сумма сделки 604 теперь 6 000 000", raise_sum(6_000_000, 604))
    await house.work(house.command(dina, "pending"))
    await house.told()


async def people_change(house: House) -> None:
    """Somebody is dismissed in the portal and comes back; reminders are put off and dropped; the portal cannot be read once."""
    anna = house.actor(1007)
    for away in ({10}, set()):
        house.portal.away = away
        house.clock.advance(timedelta(hours=1, seconds=1))
        await house.work()
    first, second = list(dict.fromkeys(event.data["effect_id"] for event in await house.events("ReminderSet")))[:2]
    for known, action in ((first, "drop"), (second, "hour")):
        await house.work(house.row("reminder", {"reminder": known, "action": action, "place": ""}, anna))
    await house.says(OPS.model_copy(update={"max_mode": "shadow"}), "заведи сделку Вяз", reply(step("crm.deal.add", ELM)), session=TERMINAL)
    session = "portal:portal.example"
    for method in ("batch", "crm.deal.list", "crm.deal.get"):
        house.portal.will(method, *[cut] * 6)
    await house.work(posted(house, session, 605))
    house.clock.advance(timedelta(seconds=20))
    await house.work()
    house.portal.faults.clear()
    assert await house.events("PortalLookFailed", session=session)
    await house.told()


async def lost_for_good(portal: Any, method: str, params: dict[str, Any]) -> Any:
    """It happened, the answer was lost, and then nothing can be read."""
    portal.will("crm.deal.get", *[cut] * 40)
    return await lost(portal, method, params)


async def left_open(house: House) -> None:
    """What waits at the end: cards of each kind, a question, a lost answer, an undo that is offered; nothing of it is delivered."""
    anna, boris = house.actor(1007), house.actor(1008)
    cmd = {"a": "crm.deal.update?id=606&fields[OPPORTUNITY]=333003", "b": "crm.deal.update?id=607&fields[OPPORTUNITY]=444004"}
    await one_card(house, anna, "поменяй суммы сделок 606 и 607", step("batch", {"halt": 0, "cmd": cmd}))
    await one_card(house, anna, "сумма сделки 608 теперь 808000", raise_sum(808_000, 608))
    await one_card(house, anna, "сумма сделки 609 теперь 80900", raise_sum(80_900, 609))
    read = step("crm.timeline.comment.list", {"filter": {"ENTITY_ID": 610, "ENTITY_TYPE": "deal"}})
    await house.says(anna, "что пишут по сделке 610", reply(read), reply(update({"COMMENTS": "звонил клиент"}, 611)))
    await house.says(CUSTOMER, "Перезвоните мне", reply(wanted("Звонок")), session=SITE, request="r2")
    await house.says(boris, "сумма сделки 500 теперь 750 000", reply(raise_sum(750_000, 500)), session=GROUP)
    card = await one_card(house, boris, "сумма сделки 702 теперь 5000", raise_sum(5000, 702), session=boris.key)
    house.portal.will("crm.deal.update", lost_for_good)
    await house.work(house.pressed(boris, card))
    house.portal.faults.clear()
    await house.says(boris, "сумма сделки Двойник теперь 4000", reply(update({"OPPORTUNITY": 4000}, "@deal:Двойник")))
    card = await one_card(house, anna, "сумма сделки 612 теперь 70000", raise_sum(70_000, 612), told=False)
    await house.work(house.pressed(anna, card))


async def death(house: House, target: Path, dying: Scene | None) -> None:
    """Killed with one call on its way, one approved and not begun, writes frozen, inputs waiting: the files as they are then."""
    anna, boris = house.actor(1007), house.actor(1008)
    card = await one_card(house, anna, "сумма сделки 613 теперь 71000", raise_sum(71_000, 613), told=False)
    await house.work(posted(house, "portal:portal.example", 614))
    sent, checked = Held(), Held()
    house.portal.will("crm.deal.update", sent)
    house.portal.will("crm.deal.get", checked, holding="500")
    (waits,) = await house.cards(GROUP)
    await house.orchestrator.receive([house.pressed(anna, card), house.pressed(boris, waits, session=GROUP)])
    await sent.arrived.wait()
    await checked.arrived.wait()
    await until_events(house, "ConfirmationApproved", session=GROUP, before=1)
    if dying is not None:
        await dying(house)
    assert not await house.orchestrator.finish_running(0.01)
    house.clock.advance(timedelta(seconds=30))
    assert ordered(house.folder, "freeze", "--reason", "инвентаризация").exit_code == 0
    late = house.message(anna, "заведи сделку Ольха")
    await house.orchestrator.receive([late, house.message(boris, "что нового", session=GROUP), house.command(boris, "status")])
    house.orchestrator.tools.audit.wait()
    with closing(sqlite3.connect(house.folder / "sdelka.db")) as source, closing(sqlite3.connect(target / "sdelka.db")) as copy:
        source.backup(copy)
    shutil.copytree(house.folder / "logs", target / "logs")
    write_json(target / "portal.json", house.portal.load())
    sent.release.set()
    checked.release.set()


def packed(path: Path) -> None:
    """Leave a file as an archive only."""
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1) + "\n", encoding="utf-8")


FIRST = (people_join, erased_talks, reminded, anna_works, anna_edits, others_talk, portal_changes)
SECOND, THIRD = (doubts, frozen_and_released, stopped, leads_decide), (people_change, left_open)


async def lives(folder: Path, clock: HouseClock, target: Path, scenes: Lives, dying: Scene | None) -> None:
    """Three lives, the erasure after the first, and what is `dying` in the middle of its work when the last one ends."""
    portal = HousePortal()
    async with opened_house(folder, clock, portal) as house:
        await begin(house)
        await played(house, scenes[0])
        await house.make_rounds()
    done = await asyncio.to_thread(ordered, folder, "journal", "erase", "tg:1009", "--yes")
    assert done.exit_code == 0, (done.exit_code, done.output, done.stderr, done.exception)
    clock.advance(timedelta(days=1, hours=20))
    async with opened_house(folder, clock, portal) as house:
        await begin(house)
        await played(house, scenes[1])
    (folder / "access.yaml").write_text(AWAY, encoding="utf-8")
    async with opened_house(folder, clock, portal) as house:
        await begin(house)
        await played(house, scenes[2])
        async with asyncio.timeout(30):
            await death(house, target, dying)


async def played(house: House, scenes: Sequence[Scene]) -> None:
    for scene in scenes:
        house.clock.advance(timedelta(minutes=5))
        async with asyncio.timeout(30):
            await scene(house)


def made_from(target: Path, clock: HouseClock) -> None:
    """What the commands of that day write of the dead house, and what the program says of it."""
    for name, words in {"anchors.txt": ["anchor"], "events.jsonl": ["export"]}.items():
        (target / name).write_text(ordered(target, "journal", *words).stdout, encoding="utf-8")
    assert ordered(target, "backup", "--to", str(target / "house.backup")).exit_code == 0
    checked = ordered(target, "journal", "verify", "--json")
    told = told_of(target) | {
        "died_at": format_iso(clock.now()),
        "verify": [checked.exit_code, checked.stdout.splitlines()],
        "secret": SECRET,
        "commands": told_by_commands(target),
    }
    write_json(target / "expected.json", told)
    packed(target / "events.jsonl")
    with closing(sqlite3.connect(target / "sdelka.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    packed(target / "sdelka.db")


def write_house(corpus: Path, scenes: Lives, dying: Scene | None) -> None:
    """Write the corpus into that folder, which is not there yet."""
    clock = HouseClock(FIRST_DAY)
    with tempfile.TemporaryDirectory() as made, by_clock(clock):
        folder, target = Path(made, "house"), Path(made, corpus.name)
        for place in (folder, target):
            place.mkdir()
            (place / "policy.yaml").write_text(POLICY, encoding="utf-8")
            (place / "access.yaml").write_text(ACCESS if place == folder else AWAY, encoding="utf-8")
        asyncio.run(lives(folder, clock, target, scenes, dying))
        made_from(target, clock)
        for left in ("sdelka.db-wal", "sdelka.db-shm", "sdelka.db.lock", "sdelka.lock"):
            (target / left).unlink(missing_ok=True)
        shutil.copytree(target, corpus)
