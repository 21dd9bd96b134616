"""Turns a finished run of the journal into a dialogue that can be played as a test.

What people answered and what models, effects and services gave is read from the run's stream. What the run said is not: the recorded
dialogue is played once, and what comes of it is what the test expects, if the run ended as that does, did the same and had the same
variables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final
from zoneinfo import ZoneInfo

from orchestrator.definitions.rules import FindClasses
from orchestrator.domain.actor import Actor
from orchestrator.domain.outcome import Outcome
from orchestrator.engines.runs import RunFailed
from orchestrator.engines.scenarios.kind import KIND
from orchestrator.engines.scenarios.plan import Plan, StepTypes, build_plan
from orchestrator.rehearsals.comparing import list_effects, list_messages
from orchestrator.rehearsals.dialogue import EACH, FAILED, REFUSED, Dialogue, Expected, Given, Person
from orchestrator.rehearsals.playing import Played, play_dialogue, select_own_variables
from orchestrator.rehearsals.rehearsal import Happening
from orchestrator.rehearsals.script import Script, find_shipped_classes
from orchestrator.rehearsals.step_names import name_steps
from orchestrator.runs.memo import PAGE, Memo, load_output, read_args
from state.canonical import dumps, hash_text, loads
from state.clock import parse_iso
from state.events.runs import NodeDone, RunStarted, RunWaits, RunWoken
from state.journal.async_store import AsyncStore
from state.stored import JsonObject

STREAM: Final = "run:"
_DOCUMENTS: Final = "rag_search"
_AGENT: Final = "tool_agent"
_FETCHED: Final = "/file"
_SENT_FILES: Final = frozenset({"telegram_send_photo", "telegram_send_document"})
NOTHING: Final = object()


class NotRecordable(Exception):
    """The run cannot be made a test; the text says why."""


@dataclass
class Recorded:
    """What was read of a run and of those that it started."""

    key: str
    dialogue: Dialogue
    documents: Mapping[str, Any]
    """The scenarios in the versions that were executed, by key."""
    status: str
    code: str
    result: Any
    """The variables of the run at its end, None if it has none."""
    effects: Sequence["Done"] = ()


@dataclass(frozen=True)
class Done:
    """An effect of the run, as it must come again when the recording is played."""

    definition: str
    step: str
    method: str
    is_refused: bool

    def __str__(self) -> str:
        """Return it as a person reads it."""
        return f"{self.definition}/{self.step}: {self.method}{' (refused)' if self.is_refused else ''}"


@dataclass(frozen=True)
class Completed:
    """A recording with what is to come of it."""

    dialogue: Dialogue
    left_out: Sequence[str] = ()
    """The variables that had another value in the run than when it is played again, with both: the test does not look at them."""


@dataclass
class _Tape:
    """What has been read so far, in the order in which it happened."""

    inputs: list[str | Given] = field(default_factory=list)
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What was given, by name of the step and then by node: what a retried run was given anew replaces what it was given first."""
    effects: dict[str, Done] = field(default_factory=dict)
    """The effects by node."""
    documents: dict[str, Any] = field(default_factory=dict)


async def read_recording(run_id: str, store: AsyncStore, types: StepTypes) -> Recorded:
    """Return what a run was given, ready to be played. Raises NotRecordable."""
    tape = _Tape()
    memo = await _read_run(f"{STREAM}{run_id}", store, tape, types)
    started, finished = memo.started, memo.finished
    if started is None or finished is None:
        raise NotRecordable("the run has not ended yet")
    args = {name: one.data for name, one in read_args(started).items()}
    mocks = {
        name: build_mocks([None if one is NOTHING else one for one in values.values()])
        for name, values in tape.outputs.items()
        if any(one is not NOTHING for one in values.values())
    }
    name = f"{started.definition} {run_id}"
    who, day = describe_start(memo, started)
    dialogue = Dialogue(name=name, person=who, day=day, args=args, inputs=tape.inputs, mocks=mocks)
    return Recorded(
        key=started.definition,
        dialogue=dialogue,
        documents=tape.documents,
        status=finished.status,
        code=finished.code,
        result=finished.result,
        effects=list(tape.effects.values()),
    )


def describe_start(memo: Memo, started: RunStarted) -> tuple[Person, str]:
    """Return the person of a run and the day on which it began in their time zone."""
    person = Actor.model_validate(started.actor)
    day = parse_iso(memo.started_at).astimezone(ZoneInfo(person.time_zone)).date().isoformat()
    return Person(name=person.name, key=person.key, employee=person.bitrix_user_id, time_zone=person.time_zone), day


async def read_finished(store: AsyncStore, stream: str, engine: str) -> tuple[Memo, RunStarted]:
    """Return what a run of this engine that has ended was given. Raises NotRecordable."""
    memo = Memo()
    await memo.read(store, stream)
    started = memo.started
    if started is None:
        raise NotRecordable(f"there is no run {stream.removeprefix(STREAM)}")
    if started.engine != engine:
        raise NotRecordable(f"it is a run of the engine {started.engine}, not of {engine}")
    if memo.is_incomplete or memo.finished is None:
        raise NotRecordable("a person was erased whose answer it worked with" if memo.is_incomplete else "the run has not ended yet")
    return memo, started


async def complete_recording(recorded: Recorded, types: StepTypes, find_classes: FindClasses = find_shipped_classes) -> Completed:
    """Return the dialogue with what is to come of it, after playing it.

    Raises NotRecordable if it does not end as the run did, has other effects, or sets other variables. A variable with another value, such
    as the digest of a photo, is left out of what is expected.
    """
    script = Script(recorded.dialogue, find_classes=find_classes)
    played = await play_dialogue(recorded.key, recorded.documents, types, recorded.dialogue, script)
    if played.problem:
        raise NotRecordable(f"played again it does not come to its end: {played.problem}")
    if (played.result.status, played.result.code) != (recorded.status, recorded.code):
        came = f"{played.result.status} {played.result.code}".strip()
        raise NotRecordable(f"the run ended as {recorded.status} {recorded.code}, and played again it ends as {came}")
    check_effects(recorded.effects, list_done(played.happenings))
    left_out = _compare_variables(recorded.result, played) if recorded.result is not None else {}
    expected = build_expected(played)
    expected = expected.model_copy(update={"variables": {name: one for name, one in expected.variables.items() if name not in left_out}})
    return Completed(recorded.dialogue.model_copy(update={"expect": expected}), list(left_out.values()))


def list_done(happenings: Sequence[Happening]) -> list[Done]:
    """Return the effects of a rehearsal, in order."""
    told = [one for one in happenings if one.kind == "effect"]
    return [Done(one.place.definition, one.place.step, one.data["method"], one.data["status"] == "refused") for one in told]


def check_effects(recorded: Sequence[Done], played: Sequence[Done]) -> None:
    """Raise NotRecordable if the run did something else."""
    for had, came in zip_longest(recorded, played):
        if had != came:
            raise NotRecordable(f"the run did {had or 'nothing more'}, and played again it does {came or 'nothing more'}")


def _compare_variables(result: Any, played: Played) -> dict[str, str]:
    """Return the variables whose value differs, with both values. Raises NotRecordable if one of them was set only in one of the two."""
    had = select_own_variables(result) if isinstance(result, Mapping) else {}
    came = played.own_variables
    if only := sorted(had.keys() ^ came.keys()):
        where = "the run" if only[0] in had else "the run that was played again"
        raise NotRecordable(f"only {where} has the variable {only[0]}")
    differing = [name for name, one in had.items() if dumps(one) != dumps(came[name])]
    return {name: f"{name}: the run had {dumps(had[name])}, played again it is {dumps(came[name])}" for name in differing}


def build_mocks(values: Sequence[Any]) -> Any:
    """Return what a step was given, one for each time if it was done several times."""
    return values[0] if len(values) == 1 else {EACH: list(values)}


def build_expected(played: Played) -> Expected:
    """Return what came of a dialogue as what is expected of it, without the variables that every run has."""
    outcome: Any = played.result.status
    effects, messages = list_effects(played.happenings), list_messages(played.happenings)
    return Expected(outcome=outcome, code=played.result.code, messages=messages, variables=played.own_variables, effects=effects)


async def _read_run(stream: str, store: AsyncStore, tape: _Tape, types: StepTypes) -> Memo:
    """Read one run and those that it started, where it waited for their ends. Raises NotRecordable."""
    memo, started = await read_finished(store, stream, KIND)
    document = await load_run_document(started, store)
    tape.documents[started.definition] = document
    reader = _Reader(stream, store, tape, types, started, build_plan(document, types))
    await reader.read()
    return memo


async def load_run_document(started: RunStarted, store: AsyncStore) -> Any:
    """Return the text that the run executed. Raises NotRecordable if it is gone or damaged."""
    text = await store.load_blob(started.digest)
    if text is None or hash_text(text) != started.digest:
        raise NotRecordable(f"the text of {started.definition} that it executed is gone")
    return loads(text)


class _Reader:
    """Reads the events of one run onto the tape."""

    def __init__(self, stream: str, store: AsyncStore, tape: _Tape, types: StepTypes, started: RunStarted, plan: Plan) -> None:
        self._stream, self._store, self._tape, self._types, self._key = stream, store, tape, types, started.definition
        self._kinds, self._names = {one.label: one.type.name for one in plan.steps}, name_steps(plan)
        self._buttons: dict[str, Sequence[str]] = {}
        """The words on the buttons of each question, by node."""

    async def read(self) -> None:
        after = 0
        while page := await self._store.read_events(self._stream, after=after, limit=PAGE):
            for event in page:
                after = event.seq
                match event.type:
                    case "RunWaits":
                        await self._read_wait(RunWaits.from_data(event.data))
                    case "RunWoken":
                        self._read_answer(RunWoken.from_data(event.data))
                    case "NodeDone":
                        await self._read_output(NodeDone.from_data(event.data))

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
        """Take what a model, an effect, the documents or an agent gave; what the program itself noted is made anew."""
        kind = self._find_kind(done.node)
        if done.kind == "memo" and kind in _SENT_FILES and done.node.endswith(_FETCHED):
            self._read_file(done)
            return
        is_own = done.kind in {"model", "effect"} and kind not in {_DOCUMENTS, _AGENT} and "#" not in done.node
        if not (is_own or done.kind == "turn" or (done.kind == "memo" and kind == _DOCUMENTS)):
            return
        try:
            output = (await load_output(done, self._store)).data
        except RunFailed as error:
            raise NotRecordable(error.detail) from None
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
        """Take why a host did not give a file. One that it gave needs no mock, but keeps the place of this time among those of others."""
        label, node = done.node.partition("/")[0], f"{self._stream}/{done.node.rpartition('/')[0]}"
        told = done.output if isinstance(done.output, Mapping) else {}
        mock = {FAILED: told["problem"]} if "problem" in told else NOTHING
        self._tape.outputs.setdefault(f"{self._key}/{self._names.get(label, label)}", {})[node] = mock

    def _find_kind(self, node: str) -> str:
        """Return the type of the step to which a node belongs."""
        return self._kinds.get(node.partition("/")[0], "")


def read_input(woken: RunWoken, buttons: Sequence[str]) -> str | Given:
    """Return what ended the wait of a question with these buttons as an input of a test."""
    stored: JsonObject = woken.value if isinstance(woken.value, Mapping) else {}
    sent: JsonObject = stored.get("sent") or {}
    match stored.get("kind") if woken.by != "timeout" else "timeout":
        case "timeout":
            return Given(timeout=True)
        case "option":
            number = int(stored["option"])
            return Given(press=buttons[number]) if number < len(buttons) else ""
        case "contact":
            return Given(contact=str(sent.get("phone", "")))
        case "photo":
            return Given(photo=str(sent.get("name", "")))
        case "document":
            return Given(document=str(sent.get("name", "")))
        case _:
            text = str(stored.get("text", ""))
            return Given(text=text) if text in buttons else text


def build_mock(kind: str, output: Any) -> Any:
    """Return an output of a node as a mock of its step, `NOTHING` for one that needs none."""
    if kind == "effect":
        outcome = Outcome.model_validate(output)
        if outcome.status == "refused" and not outcome.already:
            return {REFUSED: outcome.detail}
        return NOTHING if outcome.status == "planned" else outcome.result
    if kind == "turn":
        return output.get("text", NOTHING)
    if isinstance(output, Mapping) and set(output) == {"error"}:
        return {FAILED: output["error"]}
    return output
