"""The work of a run on its record: its block, its snapshots, and the choice in conflicts (S003-54, S003-X10).

Input is the record when the run begins, Temp when its operations are known, PostAI what the run proposes, PostUser the end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from engines.workflows.core.applying import AWAY, Applied
from engines.workflows.core.blocks.choosing import Chosen
from engines.workflows.core.blocks.conflicts import (
    PERSON,
    PROCESS,
    FieldConflict,
    Record,
    build_conflicts,
    choose_operations,
    compute_changes,
    find_conflicts,
    has_changes,
    list_differences,
)
from engines.workflows.core.blocks.host import RecordHost
from engines.workflows.core.blocks.manager import Finish, Opening
from engines.workflows.core.blocks.queries import RecordQueries
from engines.workflows.core.definition import Workflow
from engines.workflows.core.entities import ENTITIES, find_field_name
from engines.workflows.core.execution import Execution
from engines.workflows.core.operations import Emitted
from engines.workflows.core.results import Notifier
from orchestrator.domain.outputs import Notice
from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.runs import Ask, Option, RunContext, RunEffect, RunFailed
from orchestrator.language.lexicon import load_lexicon
from state.model.record_blocks import find_block
from state.stored import JsonObject

MOST_CONFLICTS: Final = 20
"""About how many fields a person is asked in a run; with more it fails."""
MOST_ASKINGS: Final = 5
"""Rounds of questions, as the record may change before each answer."""
MOST_TEXT: Final = 200_000
"""Characters in the text of a block."""
SHADOW: Final = "shadow"
_READ: Final[Origins] = frozenset({"prose"})
_AUTHOR: Final[Origins] = frozenset({"definition"})
_LONGEST_VALUE: Final = 40
_MADE: Final = frozenset({"succeeded", "already"})
_WORDS: Final = load_lexicon("workflows")


@dataclass(slots=True, kw_only=True)
class RecordWork:
    ctx: RunContext
    host: RecordHost
    chosen: Chosen
    block: str
    """Its id; "" for a micro workflow, which has none."""
    input: JsonObject
    title: str
    notifier: Notifier
    is_planned: bool = False
    """In shadow mode nothing is stored."""
    now: JsonObject = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    _round: str = ""

    @property
    def record(self) -> Record:
        return self.chosen.record

    def build_queries(self) -> RecordQueries:
        return RecordQueries(ctx=self.ctx, blocks=self.host.blocks, record=self.record, block=self.block)

    async def settle(self, execution: Execution) -> Sequence[Emitted]:
        """Return the operations to apply. Raises RunFailed if the record may not be changed now, RunSuspended while the person is asked."""
        if len(execution.raw_text.data) > MOST_TEXT:
            raise RunFailed("run-large-value", "the text of the block is too long", node="block", most=MOST_TEXT)
        if not has_changes(self.record, execution.operations):
            return execution.operations
        number = await self._find_round()
        if not self.block:
            await self._check_permission(number)
            return execution.operations
        self._round = str(number)
        left = await self._settle_conflicts(self._round, 1, self.input, dict(enumerate(execution.operations)))
        return list(left.values())

    async def recheck(self, card: int, operations: Mapping[int, Emitted]) -> Mapping[int, Emitted]:
        """Filter the operations of a later card again: the cards before it may have waited for days."""
        if not self._round or self.is_planned or not has_changes(self.record, list(operations.values())):
            return operations
        place = f"{self._round}/card{card}"
        if self._is_sent(card) and self.ctx.find_state(f"_block/temp/{place}") != "finished":  # by an earlier program
            return operations
        return await self._settle_conflicts(place, card, self.now, operations)

    def _is_sent(self, card: int) -> bool:
        return self.ctx.find_state(f"apply/{card}") != "new"

    async def _settle_conflicts(
        self, place: str, card: int, before: JsonObject, operations: Mapping[int, Emitted]
    ) -> Mapping[int, Emitted]:
        """Ask until a reading of this pass has no conflict: a choice may take days."""
        rounds, reading = 0, 1
        while True:
            node, following = (f"{place}/again{one}" if one > 1 else place for one in (reading, reading + 1))
            is_fresh = self.ctx.find_state(f"_block/temp/{node}") == "new"
            self.now = await read_record(self.ctx, self.chosen, f"_block/temp/{node}")
            if self.is_planned or not self.now:  # the mode is shadow, or has become it
                return operations
            conflicts = await self._keep_conflicts(node, card, before, list(operations.values()))
            is_last = self.ctx.find_state(f"_block/temp/{following}") != "finished"
            if not conflicts and is_last and (is_fresh or self._is_sent(card)):
                return operations
            if conflicts:
                before = {**before, **{find_field_name(self.now, one.key, self.record.kind) or one.key: one.person for one in conflicts}}
                chosen = await self._ask_choices(node, conflicts)
                left = choose_operations(self.record, list(operations.values()), conflicts, chosen)
                operations = {at: one for at, one in zip(operations, left, strict=True) if one is not None}
                rounds += 1
            if rounds == MOST_ASKINGS:
                raise RunFailed("workflow-conflicts-again", f"after {MOST_ASKINGS} questions it was changed again", title=self.title)
            reading += 1

    async def _keep_conflicts(self, place: str, card: int, before: JsonObject, operations: Sequence[Emitted]) -> list[FieldConflict]:
        """Keep the fields of the first reading: an answer is stored by the place of its question."""

        async def keep() -> list[str]:
            if self.ctx.find_state(f"_block/conflict/{place}") == "finished":
                return await self._recall_fields(place)
            conflicts = find_conflicts(self.record, before, self.now, operations) if not self._is_sent(card) else []
            return [field_conflict.key for field_conflict in conflicts]

        keys = (await self.ctx.memo(f"_block/asked/{place}", keep, origins=_AUTHOR)).data
        return build_conflicts(self.record, before, self.now, operations, keys)

    async def _recall_fields(self, place: str) -> list[str]:
        """Fields that an earlier program asked about. Raises RunFailed after several rounds."""
        block = find_block(await self.host.blocks.read(self.record), self.block)
        is_only = place == "1" and self.ctx.find_state("_block/conflict/1/again2") == "new"
        if block is None or not is_only:
            raise RunFailed("workflow-conflicts-forgotten", f"{self.block}: it is not known what was asked about", title=self.title)
        return [str(one["key"]) for one in block.conflict]

    async def _find_round(self) -> int:
        """A retry reads the record anew, unless changes of this run were made before it."""
        attempt = 1
        while self.ctx.is_before_retry(f"_block/round/{attempt}"):
            attempt += 1
        first = attempt

        async def decide() -> int:
            if attempt > 1 and self._is_sent(1):
                return int((await self._recall_round(attempt - 1)).data)
            return first

        return int((await self.ctx.memo(f"_block/round/{attempt}", decide, origins=_AUTHOR)).data)

    async def _recall_round(self, attempt: int) -> Value:
        async def refuse() -> int:
            raise LookupError(attempt)

        return await self.ctx.memo(f"_block/round/{attempt}", refuse, origins=_AUTHOR)

    async def _check_permission(self, number: int) -> None:
        """Raise RunFailed if the block's status forbids changes by others (S003-X10)."""
        look = partial(self.host.blocks.find_permission, self.record)
        permission = await self.ctx.memo(f"_block/permission/{number}", look, origins=_AUTHOR)
        if permission.data == "refuse":
            raise RunFailed("workflow-record-locked", f"the block of {self.record.key} is in conflict, or failed", title=self.title)

    async def _ask_choices(self, number: str, conflicts: Sequence[FieldConflict]) -> dict[str, str]:
        if len(conflicts) > MOST_CONFLICTS:
            raise RunFailed("workflow-conflicts-many", f"{len(conflicts)} fields were changed meanwhile", count=len(conflicts))
        ctx, blocks, owner = self.ctx, self.host.blocks, self.ctx.run.owner
        fields = [conflict.to_stored() for conflict in conflicts]
        enter = partial(blocks.enter_conflict, self.record, self.block, fields, owner, ctx.now)
        if not (await ctx.memo(f"_block/conflict/{number}", enter, origins=_AUTHOR)).data:
            raise RunFailed("workflow-block-lost", f"{self.block} was put aside", title=self.title)
        await self.notifier.tell_conflict(fields)
        choices: dict[str, str] = {}
        by = owner
        for place, field_conflict in enumerate(conflicts, 1):
            heard = await ctx.wait_input(f"_block/choice/{number}/{place}", await self._build_question(field_conflict, f"{number}/{place}"))
            choices[field_conflict.key], by = str(heard.value.data), heard.by or by
        resolve = partial(blocks.resolve, self.record, self.block, {**self.choices, **choices}, by, ctx.now)
        if not (await ctx.memo(f"_block/resolved/{number}", resolve, origins=_AUTHOR)).data:
            raise RunFailed("workflow-block-lost", f"{self.block} was put aside", title=self.title)
        await self.notifier.tell_conflict([])
        self.choices |= choices
        return choices

    async def _build_question(self, conflict: FieldConflict, place: str) -> Ask:
        name = (
            find_field_name(self.now, conflict.key, self.record.kind)
            or find_field_name(self.input, conflict.key, self.record.kind)
            or conflict.key
        )
        states: list[JsonObject] = [{**self.input, name: conflict.before}, self.now, {**self.now, name: conflict.process}]

        async def describe() -> JsonObject:
            field_text = await self.host.words.describe_field(self.ctx.actor, self.record.kind, name, states)
            return {"title": field_text.title, "values": list(field_text.values)}

        words = (await self.ctx.memo(f"_block/words/{place}", describe, origins=_READ)).data
        before, person, process = words["values"]
        args = {"title": self.title, "field": words["title"], "before": before, "person": person, "process": process}
        options = [Option(label=self._label(side, value), value=side) for side, value in ((PERSON, person), (PROCESS, process))]
        return Ask(notice=Notice(code="workflow-conflict", args=args), options=options)

    def _label(self, side: str, value: str) -> str:
        short = value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}…"
        return _WORDS.read_text("conflict", side, self.ctx.actor.locale).format(value=short)

    async def finish(self, execution: Execution, operations: Sequence[Emitted], applied: Applied) -> JsonObject:
        """Store the result and return its part in the run's own; `operations` are the applied ones."""
        if not self.block:
            return {}
        made_operations = [operation for place, operation in enumerate(operations) if applied.found.get(place, {}).get("status") in _MADE]
        finish = Finish(
            raw_text=execution.raw_text.data,
            origins=tuple(sorted(execution.raw_text.origins)),
            operations=tuple(applied.reports),
            post_ai=compute_changes(self.record, self.input, execution.operations),
            post_user=list_differences(self.input, await self._read_after(made_operations)),
        )

        async def write() -> bool:
            return self.is_planned or await self.host.blocks.finish(self.record, self.block, finish, self.ctx.run.owner, self.ctx.now)

        await self.ctx.memo("_block/finish", write, origins=_AUTHOR)
        await self.notifier.tell_status("Idle")
        await self.notifier.tell_change(sorted(finish.post_user))
        return {"block": {"id": self.block, "status": "Planned" if self.is_planned else "Idle"}}

    async def _read_after(self, made_operations: Sequence[Emitted]) -> JsonObject:
        """Read the record after the changes; compute it if it cannot be read any more."""
        now = self.now or self.input
        if not made_operations:
            return now
        try:
            return await read_record(self.ctx, self.chosen, "_block/after")
        except RunFailed:  # the changes are made: that they cannot be looked at must not make the run a failed one
            return {**now, **compute_changes(self.record, now, made_operations)}

    async def fail(self, code: str) -> None:
        """A retry takes the block up again."""
        if not self.block:
            return

        async def write() -> bool:
            return self.is_planned or await self.host.blocks.fail(self.record, self.block, code, self.ctx.run.owner, self.ctx.now)

        await self.ctx.memo(name_attempt(self.ctx, "_block/fail"), write, origins=_AUTHOR)
        await self.notifier.tell_status("Error")


async def begin_work(ctx: RunContext, workflow: Workflow, chosen: Chosen, host: RecordHost) -> RecordWork:
    """Raises RunFailed if the person may not see the record, or another run works on it."""
    fields = await read_record(ctx, chosen, "_block/input")
    title = (await host.words.describe_record(ctx.actor, chosen.record, fields)).title
    work = RecordWork(ctx=ctx, host=host, chosen=chosen, block="", input=fields, title=title, notifier=Notifier(ctx))
    if workflow.kind == "main":
        work.block = work.notifier.block = f"{chosen.record.key}:{ctx.run.run_id}"
        work.is_planned = await _open_block(work, workflow)
        await work.notifier.tell_status("Loading")
    return work


async def _open_block(work: RecordWork, workflow: Workflow) -> bool:
    ctx = work.ctx
    opening = Opening(
        block=work.block,
        run=ctx.run.run_id,
        definition=workflow.workflow_id,
        version=ctx.run.definition.version,
        by=ctx.run.owner,
        title=work.title,
        input=work.input,
    )

    async def open_it() -> JsonObject:
        if ctx.mode == SHADOW:
            return {"planned": True}
        opened = await work.host.blocks.open(work.record, opening, ctx.now)
        other = opened.other
        if other is None:
            return {"refusal": opened.refusal, "workflow": "", "run": ""}
        return {"refusal": opened.refusal, "workflow": opened.title or other.definition, "run": other.run}

    opening_state = (await ctx.memo(name_attempt(ctx, "_block/open"), open_it, origins=_AUTHOR)).data
    if refusal := opening_state.get("refusal"):
        detail = f"{work.record.key}: {refusal} by run {opening_state['run']}"
        raise RunFailed(f"workflow-block-{refusal}", detail, title=work.title, workflow=opening_state["workflow"])
    return bool(opening_state.get("planned"))


async def read_record(ctx: RunContext, chosen: Chosen, node: str) -> JsonObject:
    """Return {} in shadow mode. Raises RunFailed for a record that is hidden or missing, or without an answer."""
    record = chosen.record
    entity = ENTITIES[record.kind]
    effect = RunEffect(method=entity.get_method, params={entity.id_parameter: chosen.number}, must_read=True)
    outcome = await ctx.submit(node, effect)
    if outcome.status == "planned":
        return {}
    if outcome.status != "succeeded" or not isinstance(outcome.result, dict) or not outcome.result:
        code = "workflow-record-away" if outcome.reason is not None and outcome.reason.code in AWAY else "workflow-record-hidden"
        raise RunFailed(code, f"{record.key} was not read: {outcome.detail}", kind=record.kind, number=record.number)
    return outcome.result


def name_attempt(ctx: RunContext, node: str) -> str:
    """Name a node that is new after each retry."""
    name, number = node, 1
    while ctx.is_before_retry(name):
        number += 1
        name = f"{node}/{number}"
    return name
