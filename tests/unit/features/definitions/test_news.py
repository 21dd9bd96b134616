"""Leads and administrators read in their own chats that a definition was published; the one who did it is not told."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.i18n.translate import Translator
from engines.flows.wiring import build_flows
from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import DefinitionNews
from orchestrator.features.definitions import feature
from orchestrator.runs.registry import Engines
from orchestrator.turns.feature import Feature
from state.journal.store import InboxRow
from tests.unit.definitions.service_kit import HELLO, VERA, build_desk, data
from tests.unit.engines.flows.flow_kit import agent, flow, step
from tests.unit.spine_kit import ANNA, World, a_world
from tests.unit.spine_kit import VERA as VERA_ACTOR

OLGA = Actor(key="tg:1001", name="Ольга", role="admin", bitrix_user_id=1)


class Staff:
    """People who may use the bot."""

    def list_people(self) -> list[Actor]:
        return [ANNA, VERA_ACTOR, OLGA]

    def find_lead(self, _key: str) -> str:
        return ""

    def find_absence(self, _key: str) -> None:
        return None


def with_feature(world: World, made: Feature) -> None:
    """The bot with this feature of news in place of its own."""
    features = world.tools.features
    world.orchestrator.tools = replace(world.tools, features=replace(features, inbox={**features.inbox, **made.inbox}))


@pytest.mark.req("G1")
async def test_others_are_told_what_was_published_by_whom_and_why(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        with_feature(world, feature.build_feature(Staff()))
        desk = build_desk(world.store, world.sql)
        await desk.service.create(VERA, "steps", "welcome", data(HELLO))
        await world.work()
        assert world.outbox() == []
        await desk.service.publish(VERA, "steps", "welcome", 1, expected=1, note="короче и вежливее")
        await desk.service.publish(VERA, "steps", "welcome", 1, expected=2)  # it is active already
        await world.work()
        [row] = world.outbox()
        assert row.session == OLGA.key
        [notice] = row.body["notices"]
        told = Translator("ru").translate_notice(feature.Notice.model_validate(notice))
        assert told == (
            "📄 Опубликована версия 1 сценария «welcome» (Вера). Новые запуски пойдут по ней, начатые закончатся по прежней. "
            "Что изменилось: короче и вежливее"
        )


@pytest.mark.parametrize(
    ("by", "who"), [("tg:1002", "Вера"), ("cli:ops", "из терминала, учётная запись Вера"), ("http:site", "программой Вера")]
)
async def test_people_read_the_title_and_from_where_it_was_published(tmp_path: Path, by: str, who: str) -> None:
    """A key is a name for programs, and an account of a machine or a token is no colleague."""
    async with a_world(tmp_path) as world:
        with_feature(world, feature.build_feature(Staff()))
        desk = build_desk(world.store, world.sql, engines=Engines(runs={"flow": build_flows()}))
        await desk.publish("writer", agent(), kind="agent")
        await desk.service.create(VERA, "flow", "plan", data({**flow(step("work")), "metadata": {"title": "Черновик\nпредложения"}}))
        publisher = replace(VERA, actor=VERA.actor.model_copy(update={"key": by}))
        await desk.service.publish(publisher, "flow", "plan", 1, expected=1)
        await world.work()
        rows = world.outbox()
        assert OLGA.key in {row.session for row in rows}
        for row in rows:
            [notice] = row.body["notices"]
            told = Translator("ru").translate_notice(feature.Notice.model_validate(notice))
            assert told.startswith(f"📄 Опубликована версия 1 потока «Черновик предложения» ({who}). ")


async def test_without_an_access_list_nobody_is_told_and_the_input_is_done(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        desk = build_desk(world.store, world.sql)
        await desk.publish("welcome", HELLO)
        await world.work()
        assert world.outbox() == []
        assert count_new(world) == 0


def count_new(world: World) -> int:
    rows: list[InboxRow] = world.sql.list_waiting_inbox("definition-news", "express")
    return len([row for row in rows if row.kind == DefinitionNews.KIND])


async def test_nobody_is_told_of_an_agent_which_no_run_executes_by_itself(tmp_path: Path) -> None:
    """A flow goes on with the version that it names until it is published anew, and that is told, as a flow."""
    engines = Engines(runs={"flow": build_flows()})
    async with a_world(tmp_path) as world:
        desk = build_desk(world.store, world.sql, engines=engines)
        await desk.publish("writer", agent(), kind="agent")
        assert count_new(world) == 0
        await desk.publish("plan", {**flow(step("work")), "flowId": "plan"}, kind="flow")
        assert count_new(world) == 1
