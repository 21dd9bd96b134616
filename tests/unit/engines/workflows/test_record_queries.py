"""Scripts ask about the record of their workflow and its earlier results, with the rights of the run's person (S003-63 … S003-65)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.taint import Value
from orchestrator.engines.shared.block_marks import restore_marks
from orchestrator.engines.shared.launch import PARAMETERS
from orchestrator.engines.shared.raw_text import Block, parse_raw_text
from state.canonical import loads
from tests.unit.engines.workflows.played_kit import a_workflow_world, code, result, start
from tests.unit.engines.workflows.test_record_runs import SECOND, second
from tests.unit.engines.workflows.workflow_kit import put, tuum, workflow
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import events
from tests.unit.spine_kit import BORIS, VERA, World


def asking(source: str, **more: Any) -> dict[str, Any]:
    """A workflow on a deal whose text is what its script makes of what it is told."""
    main = code(source, consumes="deal", produces="told")
    return workflow(tuum("ask", mainScript=main, outputMappings={"told": "told"}), record="deal", terminal={"rawText": "told"}, **more)


def told(world: World) -> Any:
    return loads(result(world)["rawText"])


@pytest.mark.req("S003-64", "S003-65", "S003-M5")
async def test_a_record_comes_with_those_that_belong_to_it(tmp_path: Path) -> None:
    """A deal with its contact and company, each as the portal gives it; one that is gone is left out."""
    source = '{"told": [(await get_all_entities("")), await get_all_entities(f"deal:{deal}")]}'
    async with a_workflow_world(tmp_path, asking(source)) as world:
        await world.work(start(deal="481"))
        own, named = told(world)
        assert own == named
        assert [(one["entityType"], one["entityId"]) for one in own] == [("deal", "481"), ("contact", "43"), ("company", "5")]
        assert own[0]["attributes"]["TITLE"] == "Ромашка"
    async with a_workflow_world(tmp_path, asking(source)) as world:
        del world.portal.records["company", 5]
        await world.work(start(deal="481"))
        assert [one["entityType"] for one in told(world)[0]] == ["deal", "contact"]


@pytest.mark.req("S003-64", "S003-65")
async def test_the_state_of_a_record_is_its_funnel_stage_and_open_activities(tmp_path: Path) -> None:
    """Nothing is written for it."""
    async with a_workflow_world(tmp_path, asking('{"told": await get_game_state(deal)}')) as world:
        await world.work(start(deal="481"))
        state = told(world)
        assert (state["funnel"], state["stage"], [one["SUBJECT"] for one in state["activities"]]) == ("0", "NEW", ["Позвонить"])
        (asked,) = [params for method, params in world.portal.requests if method == "crm.activity.list"]
        assert {key: str(value) for key, value in asked["filter"].items()}.items() >= {"OWNER_ID": "481", "COMPLETED": "N"}.items()
        assert world.portal.written() == []


CHAIN = """
ids = await get_parent_block_ids("")
texts = [await get_block_raw_text(one) for one in ids]
{"told": [len(ids), texts]}
"""


@pytest.mark.req("S003-64", "S003-72")
async def test_earlier_results_on_the_record_are_read_from_the_first_to_this_one(tmp_path: Path) -> None:
    """The last of the ids is the run's own block, which has no text yet."""
    async with a_workflow_world(tmp_path, asking(CHAIN)) as world:
        await world.work(start(deal="481"))
        assert told(world) == [1, [None]]
        await world.work(second(deal="481"))
        (*_, ended) = events(world, "RunFinished", key=SECOND)
        assert loads(ended.data["result"]["rawText"]) == [2, ["[1,[null]]", None]]


QUOTING = """
deal_now = await get_entity("deal", deal)
ids = await get_parent_block_ids("")
earlier = await get_block_raw_text(ids[0]) or ""
{"told": earlier + "[YAE-BLOCK:quote]" + deal_now["TITLE"] + "[/YAE-BLOCK]"}
"""


@pytest.mark.req("S003-22", "S003-64")
@pytest.mark.parametrize("title", ["Злодей [YAE-BLOCK:options]Платить|Нет[/YAE-BLOCK]", "x[/YAE-BLOCK][YAE-BLOCK:options]да", "Ромашка"])
async def test_the_text_of_an_earlier_result_opens_its_own_blocks_only(tmp_path: Path, title: str) -> None:
    """The quotation of each run is one, the marks in the record that it quotes are text, in the first result and in the second."""
    async with a_workflow_world(tmp_path, asking(QUOTING)) as world:
        world.portal.records["deal", 481] |= {"TITLE": title}
        await world.work(start(deal="481"))
        await world.work(second(deal="481"))
        (*_, ended) = events(world, "RunFinished", key=SECOND)
        first, last = result(world)["rawText"], ended.data["result"]["rawText"]
        assert [part.id for part in parse_raw_text(first) if isinstance(part, Block)] == ["quote"]
        assert [part.id for part in parse_raw_text(last) if isinstance(part, Block)] == ["quote", "quote"]
        assert restore_marks(last) == f"[YAE-BLOCK:quote]{title}[/YAE-BLOCK]" * 2


@pytest.mark.req("S003-64", "S003-72")
@pytest.mark.parametrize("key", ["'deal:481'", "deal"])
async def test_the_key_of_the_own_record_names_the_last_result_on_it(tmp_path: Path, key: str) -> None:
    """Not the block of the run that asks, which has no text yet."""
    source = f'{{"told": [await get_block_raw_text({key}), len(await get_parent_block_ids({key})), len(await get_parent_block_ids(""))]}}'
    async with a_workflow_world(tmp_path, asking(source)) as world:
        await world.work(start(deal="481"))
        assert told(world) == [None, 0, 1]
        await world.work(second(deal="481"))
        (*_, ended) = events(world, "RunFinished", key=SECOND)
        assert loads(ended.data["result"]["rawText"]) == ["[null,0,1]", 1, 2]


SEEN = """
found = []
for ask in (get_all_entities, get_game_state, get_block_raw_text, get_parent_block_ids):
    found.append(await ask("deal:481"))
{"told": found}
"""


@pytest.mark.req("S003-64", "S003-65")
async def test_who_may_not_see_a_record_is_told_nothing_of_its_blocks(tmp_path: Path) -> None:
    """Boris works on his own deal and asks for that of Anna, which has a result."""
    first = workflow(
        tuum("say", put("said", "секрет сделки"), outputMappings={"said": "said"}), record="deal", terminal={"rawText": "said"}
    )
    async with a_workflow_world(tmp_path, first) as world:
        await world.work(start(deal="481"))
        async with a_workflow_world(tmp_path, asking(SEEN), world_options={"store": world.sql, "portal": world.portal}) as other:
            args = {PARAMETERS: Value({"deal": "500"}, frozenset({"person"}))}
            await other.work(runs_kit.start("dossier", engine="workflow", actor=BORIS, home=BORIS.key, key=SECOND, **args))
            (*_, ended) = events(other, "RunFinished", key=SECOND)
            assert loads(ended.data["result"]["rawText"]) == [None, None, None, []]


@pytest.mark.req("S003-64")
async def test_words_of_another_person_are_no_wish_of_this_one(tmp_path: Path) -> None:
    """What Anna typed stands in the block as a person's words; in a run of Vera it counts as text of strangers."""
    typed = {"name": "text", "type": "string", "required": True}
    first = workflow(
        tuum("say", put("said", "{{text}}"), outputMappings={"said": "said"}),
        record="deal", terminal={"rawText": "said"}, triggerParameters=[typed],
    )  # fmt: skip
    reading = asking('{"told": await get_block_raw_text((await get_parent_block_ids(""))[0])}')
    for actor, foreign in ((None, False), (VERA, True)):
        async with a_workflow_world(tmp_path, first) as world:
            await world.work(start(deal="481", text="перенести на среду"))
            options: Mapping[str, Any] = {"store": world.sql, "portal": world.portal}
            async with a_workflow_world(tmp_path, reading, world_options=options) as other:
                args = {PARAMETERS: Value({"deal": "481"}, frozenset({"person"}))}
                who = {"actor": actor, "home": actor.key} if actor else {}
                await other.work(runs_kit.start("dossier", engine="workflow", key=SECOND, **who, **args))
                (ended,) = [one for one in events(other, "NodeDone", key=SECOND) if one.data["node"].endswith("/text")]
                assert ended.data["output"] == "перенести на среду"
                assert ("prose" in ended.data["origins"]) is foreign


@pytest.mark.req("S003-64")
@pytest.mark.parametrize("name", ["'task:5'", "'deal'", "'deal:0'", "'deal:1:a b'", "5.5", "None"])
async def test_what_names_no_block_is_an_error_of_the_script(tmp_path: Path, name: str) -> None:
    """The script may catch it; nothing is read for it."""
    source = f"try:\n    found = await get_game_state({name})\nexcept Exception as error:\n    found = 'no'\n{{'told': found}}"
    async with a_workflow_world(tmp_path, asking(source)) as world:
        await world.work(start(deal="481"))
        assert result(world)["rawText"] == "no"
        assert [method for method, _ in world.portal.requests if method == "crm.activity.list"] == []
