"""Turns a finished run into a dialogue that can be played as a test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from engines.scenarios.core.kind import KIND
from engines.scenarios.core.plan import StepTypes, build_plan
from engines.scenarios.playing import Dialogue, Expected, Played, name_steps, play_dialogue, select_own_variables
from orchestrator.definitions.rules import FindClasses
from orchestrator.domain.effect import Outcome
from orchestrator.rehearsals.case import FAILED, Given
from orchestrator.rehearsals.comparing import list_effects, list_messages
from orchestrator.rehearsals.recorded_nodes import (
    NOTHING,
    STREAM,
    Done,
    FinishedRun,
    build_mock,
    build_mocks,
    check_effects,
    check_end,
    compare_variables,
    list_done,
    load_recorded_output,
    read_finished,
    read_input,
    read_tape,
)
from orchestrator.rehearsals.script import Script, find_shipped_classes
from state.events.runs import NodeDone, RunWaits, RunWoken
from state.journal.async_store import AsyncStore
from state.stored import JsonObject

_DOCUMENTS: Final = "rag_search"
_AGENT: Final = "tool_agent"
_FETCHED: Final = "/file"
_SENT_FILES: Final = frozenset({"telegram_send_photo", "telegram_send_document"})


@dataclass
class Recorded:
    run: FinishedRun
    dialogue: Dialogue
    documents: Mapping[str, Any]
    effects: Sequence[Done] = ()


@dataclass(frozen=True)
class Completed:
    dialogue: Dialogue
    left_out: Sequence[str] = ()
    """Variables with other values in a replay, with both: the test does not compare them."""


@dataclass
class _Tape:
    inputs: list[str | Given] = field(default_factory=list)
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name of the step and then by node; a retry's value replaces the first."""
    effects: dict[str, Done] = field(default_factory=dict)
    documents: dict[str, Any] = field(default_factory=dict)


async def read_recording(run_id: str, store: AsyncStore, types: StepTypes) -> Recorded:
    """Raises NotRecordable."""
    tape = _Tape()
    run = await _read_run(f"{STREAM}{run_id}", store, tape, types)
    mocks = {
        name: build_mocks([None if one is NOTHING else one for one in values.values()])
        for name, values in tape.outputs.items()
        if any(one is not NOTHING for one in values.values())
    }
    name = f"{run.key} {run_id}"
    dialogue = Dialogue(name=name, person=run.person, day=run.day, args=run.args, inputs=tape.inputs, mocks=mocks)
    return Recorded(run=run, dialogue=dialogue, documents=tape.documents, effects=list(tape.effects.values()))


async def complete_recording(recorded: Recorded, types: StepTypes, find_classes: FindClasses = find_shipped_classes) -> Completed:
    """Play the dialogue to complete it. Raises NotRecordable if it ends otherwise, has other effects, or sets other variables."""
    script = Script(recorded.dialogue, find_classes=find_classes)
    played = await play_dialogue(recorded.run.key, recorded.documents, types, recorded.dialogue, script)
    check_end(recorded.run, played.result, played.problem)
    check_effects(recorded.effects, list_done(played.happenings))
    result = recorded.run.result
    had = select_own_variables(result, played.given) if isinstance(result, Mapping) else {}
    left_out = compare_variables(had, played.own_variables) if result is not None else {}
    expected = build_expected(played)
    expected = expected.model_copy(update={"variables": {name: one for name, one in expected.variables.items() if name not in left_out}})
    return Completed(recorded.dialogue.model_copy(update={"expect": expected}), list(left_out.values()))


def build_expected(played: Played) -> Expected:
    outcome: Any = played.result.status
    effects, messages = list_effects(played.happenings), list_messages(played.happenings)
    return Expected(outcome=outcome, code=played.result.code, messages=messages, variables=played.own_variables, effects=effects)


async def _read_run(stream: str, store: AsyncStore, tape: _Tape, types: StepTypes) -> FinishedRun:
    """Read one run and those that it waited for. Raises NotRecordable."""
    run = await read_finished(store, stream, KIND)
    tape.documents[run.key] = run.document
    await read_tape(stream, store, _Reader(run, store, tape, types).read)
    return run


class _Reader:
    def __init__(self, run: FinishedRun, store: AsyncStore, tape: _Tape, types: StepTypes) -> None:
        self._stream, self._store, self._tape, self._types, self._key = run.stream, store, tape, types, run.key
        plan = build_plan(run.document, types)
        self._kinds, self._names = {step.label: step.type.name for step in plan.steps}, name_steps(plan)
        self._buttons: dict[str, Sequence[str]] = {}

    async def read(self, kind: str, data: JsonObject) -> None:
        match kind:
            case "RunWaits":
                await self._read_wait(RunWaits.from_data(data))
            case "RunWoken":
                self._read_answer(RunWoken.from_data(data))
            case "NodeDone":
                await self._read_output(NodeDone.from_data(data))

    async def _read_wait(self, waits: RunWaits) -> None:
        if waits.on == "input":
            self._buttons[waits.node] = (*waits.options, *waits.controls)
        elif waits.on == "run":  # it has ended before this one went on
            await _read_run(waits.waits_for, self._store, self._tape, self._types)

    def _read_answer(self, woken: RunWoken) -> None:
        buttons = self._buttons.get(woken.node)
        if buttons is None or self._find_kind(woken.node) == _AGENT:  # which record the agent meant is no question of the scenario
            return
        self._tape.inputs.append(read_input(woken, buttons))

    async def _read_output(self, done: NodeDone) -> None:
        kind = self._find_kind(done.node)
        if done.kind == "memo" and kind in _SENT_FILES and done.node.endswith(_FETCHED):
            self._read_file(done)
            return
        is_own = done.kind in {"model", "effect"} and kind not in {_DOCUMENTS, _AGENT} and "#" not in done.node
        if not (is_own or done.kind == "turn" or (done.kind == "memo" and kind == _DOCUMENTS)):
            return
        output = await load_recorded_output(done, self._store)
        label, node = done.node.partition("/")[0], f"{self._stream}/{done.node}"
        step = self._names.get(label, label)
        if done.kind == "effect":
            outcome = Outcome.model_validate(output)
            is_refused = outcome.status == "refused" and not outcome.already
            self._tape.effects[node] = Done(self._key, step, outcome.method, is_refused)
        mock = build_mock(done.kind, output)
        if mock is not NOTHING:
            self._tape.outputs.setdefault(f"{self._key}/{step}", {})[node] = mock

    def _read_file(self, done: NodeDone) -> None:
        """A file that a host gave needs no mock, but keeps its place among those of other times."""
        label, node = done.node.partition("/")[0], f"{self._stream}/{done.node.rpartition('/')[0]}"
        output = done.output if isinstance(done.output, Mapping) else {}
        mock = {FAILED: output["problem"]} if "problem" in output else NOTHING
        self._tape.outputs.setdefault(f"{self._key}/{self._names.get(label, label)}", {})[node] = mock

    def _find_kind(self, node: str) -> str:
        return self._kinds.get(node.partition("/")[0], "")
