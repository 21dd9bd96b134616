"""Wrote `tests/corpus/house_v2` once, at the commit that added it: the life of `make_house_v1`, and beside it what came later.

That is definitions of several versions and their runs in every state, schedules, the tool agent, an undo, a card that two people approve,
one that expires, archives of the audit log of which the oldest are gone, and logs as a crash left them. Not to be run again.
"""

import asyncio
import gzip
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

import yaml

sys.path.append(str(Path(__file__).resolve().parents[2]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))

from bot.definition_service import build_definition_service
from bot.plugins.building import load_installed_engines
from engines.flows.core.operations import OPERATIONS
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.run_inputs import RunStart, ScheduleAdd, ScheduleOrder
from orchestrator.features.leads.live_policy import FixedPolicy
from orchestrator.gate.call.policy import Policy
from orchestrator.runtime.commands import parse_command
from state.canonical import dumps
from state.clock import generate_id
from state.journal.journal import load_state
from state.journal.run_index import PREFIX, RunFilter
from tests.corpus import make_house_v1 as v1
from tests.corpus.house_kit import CORPUS, House, copied, logs_of, read_json, told_in_chats
from tests.unit.definitions.service_kit import OLEG, VERA, Desk, data, shipped_catalogue
from tests.unit.engines.tool_agent.ask_kit import call, say
from tests.unit.spine_kit import raise_sum, until

HOUSE = CORPUS / "house_v2"
HOME = "tg:1001"
"""Where the runs are shown."""
SILENT = ModelClientError("Модель не отвечает.")
WRITTEN = yaml.safe_load((CORPUS / "house_v2_definitions.yaml").read_text(encoding="utf-8"))
KINDS, (CLERK, HELLO, NAP, NEWER) = WRITTEN["plan"], WRITTEN["others"]
"""The definition "plan" of each engine, and others."""


def answers(engine: str, words: str) -> str:
    """What the model says in a run of the engine whose person said these words."""
    effect = {"method": "crm.deal.update", "params": {"id": 617, "fields": {"OPPORTUNITY": words}}}
    return dumps({OPERATIONS: [effect], "said": f"Записал: {words}"}) if engine == "flow" else f"тариф за {words}"


def desk_of(house: House) -> Desk:
    """The service of definitions over the house, at its present moment."""
    engines, policies = load_installed_engines(), FixedPolicy(Policy())
    service = build_definition_service(house.store, engines, policies=policies, catalogue=shipped_catalogue, clock=house.clock)
    return Desk(service, house.store, cast("Any", None), house.clock)


async def authors_write(house: House) -> None:
    """An agent and a definition of each engine are published, and schedules made: each morning, once, once after the death, a paused one."""
    desk, dina = desk_of(house), house.actor(1001)
    await desk.publish("clerk", CLERK, kind="agent")
    for kind, document in KINDS.items():
        await desk.publish("plan", document, kind=kind)
    for key, document in {"hello": HELLO, "nap": NAP, "gone": HELLO}.items():
        await desk.publish(key, document, kind="scenario")
    moments = ({"cron": "0 9 * * *"}, {"at": "2026-11-20T13:30:00+03:00"}, {"at": "2026-12-24T09:00:00+03:00"}, {"cron": "0 18 * * 5"})
    for moment in moments:
        made = ScheduleAdd(schedule=generate_id(), engine="scenario", definition="hello", zone="Europe/Moscow", note="утро", **moment)
        await house.work(house.row(ScheduleAdd.KIND, made.to_json(), dina))
    pause = ScheduleOrder(schedule=made.schedule, order="pause", callback_id=generate_id())
    await house.work(house.row(ScheduleOrder.KIND, pause.to_json(), dina))
    await v1.one_card(house, house.actor(1007), "сумма сделки 619 теперь 61 950", raise_sum(61_950, 619))
    await house.told()


async def asked(house: House) -> None:
    """The tool agent calculates."""
    command, lane = parse_command("ask", "сколько будет 12,5% от 84 300 ₽?", house.orchestrator.tools.features)
    house.model.will(say("да"), call("calculate", expression="12,5% от 84 300 ₽"))
    await house.work(house.row(command.KIND, command.to_json(), house.actor(1001), lane=lane))
    assert not house.model.script
    await house.told()


async def taken_back(house: House) -> None:
    """What an approved card did is undone, and two people approve a large sum."""
    anna, vera, dina = (house.actor(number) for number in (1007, 1006, 1001))
    (done,) = [card for card in await house.cards(status="executed") if card["params"].get("id") == 615]
    await house.work(house.button(anna, "undo", done["effect_id"]))
    await house.work(house.pressed(anna, (await house.cards())[-1]))
    card = await v1.one_card(house, anna, "сумма сделки 620 теперь 5 500 000", raise_sum(5_500_000, 620))
    for lead in (vera, dina):
        await house.work(house.pressed(lead, card, session=v1.CHAT))
    await house.told()


async def begun(house: House, engine: str, definition: str = "plan") -> str:
    """A run in Dina's chat; returns its stream."""
    key = f"run:{generate_id()}"
    order = RunStart(engine=engine, definition=definition, home=HOME)
    await house.orchestrator.receive([house.row(RunStart.KIND, order.to_json(), house.actor(1001), key, lane="turn")])
    await until(lambda: waits(house, key))
    return key


async def waits(house: House, key: str) -> bool:
    state, _ = await house.store.read(load_state, key)
    return state.run is not None and bool(state.run.waits)


async def runs_work(house: House) -> None:
    """Of each engine one run is done, one waits for its card, one has failed and one waits for words."""
    dina = house.actor(1001)
    for engine in KINDS:
        for way, words in {"done": "70001", "card": "70002", "failed": "70003"}.items():
            key = await begun(house, engine)
            await house.work()
            house.model.will(answers(engine, words) if way != "failed" else "не знаю" if engine == "workflow" else SILENT)
            await house.work(house.message(dina, words))
            if way == "done":
                state, _ = await house.store.read(load_state, key)
                (card,) = [card.to_stored() for card in state.agent.confirmations.values() if card.status == "requested"]
                await house.work(house.pressed(dina, card, session=key))
            assert not house.model.script
            ((*_, status, _, _),) = await house.store.list_runs(RunFilter(run_id=key.removeprefix(PREFIX)))
            assert status == {"card": "waiting"}.get(way, way)
    await begun(house, "scenario", "nap")
    for engine in KINDS:
        await begun(house, engine)
        await house.work()
    await house.told()


async def runs_die(house: House) -> None:
    """A run of each engine is in the middle of a question to the model. Then the definitions say something else."""
    house.model.gate = asyncio.Event()
    for engine in KINDS:
        await begun(house, engine)
        house.model.will(answers(engine, "70004"))
        await house.orchestrator.receive([house.message(house.actor(1001), "70004")])
        await until(lambda: not house.model.script)
    house.model.gate = None
    desk = desk_of(house)
    await desk.publish("plan", NEWER, kind="scenario")
    await desk.service.create(VERA, "scenario", "plan", data(HELLO, note="ещё не всё"))
    gone = await desk.service.find_key(OLEG, "scenario", "gone")
    await desk.service.switch(OLEG, "scenario", "gone", enabled=False, expected=gone.revision)


def leave_crashed_logs(corpus: Path) -> dict[str, Any]:
    """A copy of the logs of two people as a kill leaves them: in the middle of packing an archive, and in the middle of a record."""
    logs, crashed = corpus / "logs", corpus / "crashed_logs"
    crashed.mkdir()
    for path in [*logs.glob("*tg%3a1007*"), *logs.glob("*tg%3a1008*")]:
        shutil.copy2(path, crashed)
    segment = (crashed / "tg%3a1007.jsonl").rename(crashed / "tg%3a1007.jsonl.20261120T120000Z")
    packed = gzip.compress(segment.read_bytes(), mtime=0)
    (crashed / f"{segment.name}.gz.tmp").write_bytes(packed[: len(packed) // 2])
    torn = crashed / "tg%3a1008.jsonl"
    last = torn.read_bytes().splitlines()[-1]
    torn.write_bytes(torn.read_bytes() + last[: len(last) // 2])
    return {"logs": logs_of(logs), "crashed": logs_of(crashed)}


def main() -> None:
    """Write the corpus."""
    v1.LOG_KEEP = 2
    days = (*v1.FIRST, authors_write), (*v1.SECOND, asked, taken_back), (runs_work, *v1.THIRD)
    v1.write_house(HOUSE, days, runs_die)
    expected = read_json(HOUSE / "expected.json") | leave_crashed_logs(HOUSE)
    with tempfile.TemporaryDirectory() as made:
        expected["chats"] = asyncio.run(told_in_chats(copied(HOUSE.name, Path(made)), expected["died_at"]))
    v1.write_json(HOUSE / "expected.json", expected)


if __name__ == "__main__":
    main()
