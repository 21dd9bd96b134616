"""Builds the engine of workflows and connects it with the store: tuums, and blocks of records. Part of the composition root."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from bitrix.catalogue.catalogue import Catalogue
from bitrix.errors import BitrixError
from bot.plugins.wiring import EnginePorts, Wiring
from engines.workflows.core.blocks import manager
from engines.workflows.core.blocks.conflicts import Record
from engines.workflows.core.blocks.host import FieldText, PlainWords, RecordHost, RecordText
from engines.workflows.core.blocks.manager import Finish, Opened, Opening, Permission
from engines.workflows.core.engine import WorkflowEngine
from engines.workflows.core.entities import ENTITIES
from engines.workflows.core.kind import TUUM, build_kinds
from engines.workflows.core.registry import build_rune_types, load_plugins
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.engines.shared.declared import allows_start, describe_flow
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.gate.call.ports import Names
from orchestrator.gate.preview.field_words import describe_field
from orchestrator.runs.registry import RegisteredEngine, RunCommand
from orchestrator.runs.stored_definitions import build_part_finder
from state.journal import record_blocks
from state.journal.async_store import AsyncStore, retry_while_busy
from state.journal.journal import load_state
from state.journal.record_blocks import BlocksBusy, Decide, RecordPlace, find_kept_from
from state.journal.run_index import PREFIX, RunFilter
from state.model.record_blocks import Block, find_current
from state.model.run_state import ENDED
from state.stored import JsonObject

PATIENCE: Final = 15.0
"""Seconds to wait for others that write blocks of the same record."""
T = TypeVar("T")


class StoredBlocks:
    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def read(self, record: Record, /) -> Sequence[Block]:
        return await self._store.read(record_blocks.read_blocks, find_place(record))

    async def find_permission(self, record: Record, /) -> Permission:
        blocks = await self.read(record)
        return manager.find_permission(blocks, await self._list_over(blocks))

    async def open(self, record: Record, opening: Opening, at: datetime, /) -> Opened:
        """A working block keeps others out only as long as its run goes on."""
        over = await self._list_over(await self.read(record))
        opened = await self._change(
            record, lambda blocks: manager.open_block(blocks, opening, over, find_kept_from(blocks, at)), opening.by, at
        )
        if opened.other is None:
            return opened
        state, _ = await self._store.read(load_state, f"{PREFIX}{opened.other.run.removeprefix(PREFIX)}")
        return replace(opened, title=state.run.title if state.run is not None else "")

    async def _list_over(self, blocks: Sequence[Block]) -> frozenset[str]:
        """Return the run of the current block if it has ended or is unknown."""
        current = find_current(blocks)
        if current is None:
            return frozenset()
        rows = await self._store.list_runs(RunFilter(run_id=current.run.removeprefix(PREFIX)))
        return frozenset({current.run}) if all(row.status in ENDED for row in rows) else frozenset()

    async def enter_conflict(self, record: Record, block: str, fields: Sequence[JsonObject], owner: str, at: datetime, /) -> bool:
        return await self._change(record, lambda blocks: manager.enter_conflict(blocks, block, fields), owner, at)

    async def resolve(self, record: Record, block: str, choices: Mapping[str, str], by: str, at: datetime, /) -> bool:
        return await self._change(record, lambda blocks: manager.resolve_conflict(blocks, block, choices, by), by, at)

    async def finish(self, record: Record, block: str, finish: Finish, owner: str, at: datetime, /) -> bool:
        return await self._change(record, lambda blocks: manager.finish_block(blocks, block, finish), owner, at)

    async def fail(self, record: Record, block: str, code: str, owner: str, at: datetime, /) -> bool:
        return await self._change(record, lambda blocks: manager.fail_block(blocks, block, code), owner, at)

    async def _change(self, record: Record, decide: Decide[T], owner: str, at: datetime) -> T:
        write = partial(self._store.write, record_blocks.change_blocks, find_place(record), decide, owner, at)
        return await retry_while_busy(write, BlocksBusy, patience=PATIENCE, pause=0.02)


class PortalWords:
    def __init__(self, catalogue: Catalogue, names: Names) -> None:
        self._catalogue, self._names = catalogue, names
        self._plain = PlainWords()

    async def describe_field(self, actor: Actor, kind: str, key: str, fields: Sequence[JsonObject], /) -> FieldText:
        """Values of the portal stay as they are if it does not answer."""
        field_words = await describe_field(
            ENTITIES[kind].update_method, key, fields, actor=actor, names=self._names, catalogue=self._catalogue
        )
        if field_words is None:
            return await self._plain.describe_field(actor, kind, key, fields)
        title, values = field_words
        return FieldText(title=title, values=tuple(values))

    async def describe_record(self, actor: Actor, record: Record, fields: JsonObject, /) -> RecordText:
        record_text = await self._plain.describe_record(actor, record, fields)
        try:
            url = self._names.build_card_url(record.kind, int(record.number), user=actor.bitrix_user_id or 0)
        except BitrixError:
            url = ""
        return RecordText(title=record_text.title, url=url)


def build_record_host(store: AsyncStore, catalogue: Catalogue, names: Names) -> RecordHost:
    return RecordHost(blocks=StoredBlocks(store), words=PortalWords(catalogue, names))


def find_place(record: Record) -> RecordPlace:
    return RecordPlace(record.kind, int(record.number))


COMMAND: Final = "workflow"


def build_workflows() -> RegisteredEngine:
    """Until `connect` it finds no tuums, and nobody closes its sandbox."""
    types = build_rune_types(load_plugins())
    workflows, tuums = build_kinds(types)
    return RegisteredEngine(
        engine=WorkflowEngine(types, ScriptRunner()),
        commands={COMMAND: RunCommand(definition="", menu=Notice(code="menu-workflow"))},
        describe=describe_flow,
        is_listed=partial(allows_start, "ui"),
        is_for_programs=partial(allows_start, "api"),
        kind=workflows,
        parts=(tuums,),
    )


def connect(workflows: RegisteredEngine, ports: EnginePorts) -> RegisteredEngine:
    assert isinstance(workflows.engine, WorkflowEngine)  # noqa: S101 - as it was built here
    host = build_record_host(ports.store, ports.catalogue, ports.naming)
    return replace(workflows, engine=workflows.engine.connect(build_part_finder(ports.store, TUUM), ports.scripts, host))


WIRING: Final = Wiring(build=build_workflows, connect=connect)
