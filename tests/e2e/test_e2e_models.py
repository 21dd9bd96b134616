"""Runs ask models over real HTTP: a budget that is nearly used up, and providers that die before, in the middle of, or with garbage for an answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from examples.engines.fan import FanEngine
from orchestrator.runs.registry import Engines, RegisteredEngine, RunCommand, StaticDefinitions
from sandbox.model.gigachat import CREDENTIALS
from state.journal.run_index import PREFIX, RunFilter
from tests.e2e.e2e_kit import World, texts
from tests.e2e.e2e_servers import Servers

FAN = {"things": [str(number) for number in range(20)], "prompt": "Тема {thing}. Ответь одним словом.", "summary": "Итог: {answers}"}
ONE = {"things": ["цена"], "prompt": "Тема {thing}. Ответь одним предложением.", "summary": "Перескажи: {answers}"}
SENTENCE = "Скидка возможна, если отгрузка пройдёт до конца месяца."


def build_engines(document: dict[str, Any]) -> Engines:
    """The example engine that asks about many things side by side, started by /fan."""
    engine = RegisteredEngine(engine=FanEngine(), commands={"fan": RunCommand(definition="fan")})
    return Engines(runs={"fan": engine}, definitions=StaticDefinitions({("fan", "fan"): document}))


def write_models(folder: Path, servers: Servers) -> Path:
    """Write a MODELS_FILE with two providers: the first is asked first."""
    main = {"kind": "openai", "base": servers.model, "key": "OPENAI_API_KEY", "model": "demo"}
    root = servers.model_root
    spare = {"kind": "gigachat", "base": f"{root}/api/v1", "auth_url": f"{root}/api/v2/oauth", "key": "GIGACHAT_CREDENTIALS"}
    path = folder / "models.yaml"
    path.write_text(yaml.safe_dump({"providers": {"main": main, "spare": spare}, "roles": {"tool": ["main", "spare"]}}), encoding="utf-8")
    return path


async def read_run(world: World) -> tuple[str, list[Any]]:
    """The status of the only run, and its events."""
    assert world.running is not None
    (run,) = await world.running.store.list_runs(RunFilter(home=world.boris.session))
    return run.status, list(await world.running.store.read_events(f"{PREFIX}{run.run_id}"))


def find_models(record: Any) -> Iterator[dict[str, Any]]:
    """Yield each object of the record that says which provider answered."""
    if isinstance(record, dict):
        if record.get("provider"):
            yield record
        for one in record.values():
            yield from find_models(one)
    elif isinstance(record, list):
        for one in record:
            yield from find_models(one)


async def test_a_fan_with_twenty_tokens_left_spends_no_more_than_it_reserved(world: World) -> None:
    """Of twenty questions side by side the model gets those that fit; the person reads that the budget is used up, and nobody pays more."""
    policy = world.folder / "policy.yaml"
    policy.write_text("budget: {tokens_per_month: 20}\n", encoding="utf-8")
    await world.script(*["да"] * 20)
    async with world.bot(engines=build_engines(FAN), policy_file=policy):
        said = await world.boris.ask("/fan")
        status, events = await read_run(world)
        asked = [one.data for one in events if one.type == "ModelAsked"]
        answered = [one.data for one in events if one.type == "NodeDone"]
        await world.boris.ask("/fan")  # nothing is left at all
        assert len(await world.prompts()) == len(asked)
    reserved, spent = (sum(one["prompt_tokens"] + one["completion_tokens"] for one in rows) for rows in (asked, answered))
    assert 1 <= len(answered) == len(asked) <= 2
    assert 20 <= spent <= reserved
    assert status == "failed"
    assert "лимит ИИ на этот месяц исчерпан" in texts(said)


@pytest.mark.parametrize("fault", ["drop_mid_stream", "503", "drop", "garbage"])
async def test_a_provider_that_dies_is_replaced_and_the_record_names_both(
    world: World, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of its answer or before: the other one answers the same question once, the draft begins anew, the run ends well."""
    monkeypatch.setenv("GIGACHAT_CREDENTIALS", CREDENTIALS)
    await world.script(*[SENTENCE] * 5)
    await world.break_model(fault, times=3, provider="openai")
    async with world.bot(
        engines=build_engines(ONE), models_file=write_models(world.folder, world.servers), gigachat_credentials=CREDENTIALS
    ):
        said = await world.boris.ask("/fan")
        status, events = await read_run(world)
    done = [one.data for one in events if one.type == "NodeDone"]
    named = [(one["provider"], tuple(one.get("failed_before", ()))) for one in done]
    logged = [(one["provider"], tuple(one.get("failed_before", ()))) for record in world.audit() for one in find_models(record)]
    prompts = await world.prompts()
    assert status == "done"
    assert named[0] == ("spare", ("main",))
    assert sorted(logged) == sorted(named)
    assert [one["output"] for one in done] == [SENTENCE, SENTENCE]
    assert said[-1].text == SENTENCE
    assert sum(one["provider"] == "gigachat" and "Тема цена" in json.dumps(one, ensure_ascii=False) for one in prompts) == 1
