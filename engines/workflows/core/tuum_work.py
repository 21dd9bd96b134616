"""What the runes of one run of a tuum reach: the model, the sandbox, the portal, and the staging area of operations."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple

from engines.workflows.core.definition import Script
from engines.workflows.core.operations import MOST_OPERATIONS, Emitted, OperationUnfit, check_proposals, judge_nulls, read_operations
from engines.workflows.core.own_writing import MarkedPlay
from engines.workflows.core.published import NO_ENDING, Ending
from engines.workflows.core.results import AtomicOperation, DisplayUpdatePayload
from engines.workflows.core.rune_types import AUTHOR, PROMPTS, AnyRuneType, TuumFailed
from engines.workflows.core.script_functions import ScriptCalls
from engines.workflows.core.surroundings import Surroundings
from engines.workflows.core.variables import ADDED_OUTPUT, EXECUTION_TIME, TOTAL_OUTPUT
from orchestrator.domain.taint import FOREIGN, NOWHERE, Origins, Value, join_origins
from orchestrator.engines.runs import RunContext, RunEffect, RunFailed, RunModelRequest
from orchestrator.engines.shared.block_marks import escape_data, escape_value, list_marks, restore_data
from orchestrator.engines.shared.declared import Options, join_options
from orchestrator.engines.shared.model_json import ONLY_JSON, build_complaint
from orchestrator.expressions.scripts.failures import ScriptFailed
from orchestrator.expressions.scripts.runner import ScriptLimits
from state.stored import JsonObject

NO_ANSWER: Final = "degraded"
"""The code of the failure after which a main script still runs: no provider answered. Others, such as a used-up budget, end the run."""
UNFIT: Final = frozenset({"run-large-value", "run-bad-value"})
"""The codes of failures of a run that say that a value cannot be kept: that is a matter of the tuum which made it."""
SCRIPT_LIMITS: Final = ScriptLimits(total_seconds=60.0, calls=MOST_OPERATIONS + 100)
CALLBACK_LIMITS: Final = ScriptLimits(seconds=0.1, total_seconds=5.0, calls=10)
MOST_FAILURES: Final = 3
"""How often the callback of one answer may fail before it is left alone."""
MOST_PARTIAL: Final = 500_000
"""How many characters are kept of an answer that failed."""
MOST_CALLBACK_SECONDS: Final = 20.0
"""How long the callbacks of one answer may take together before they are left alone."""
_SEARCH: Final = """
import re
found = list(re.finditer(pattern, text)) if is_all else [one for one in [re.search(pattern, text)] if one]
[{"groups": [one.group(0), *one.groups()], "names": one.groupdict()} for one in found]
"""
_PROSE: Final[Origins] = frozenset({"prose"})
_MODEL: Final[Origins] = frozenset({"model"})
_TOLD_BY_PARAMETERS: Final = frozenset({"script", "terminal"})
"""The types of our own that propose what their parameters tell beforehand: see `kind.py`."""
_ROLES: Final = frozenset({"system", "user", "assistant"})
log = logging.getLogger(__name__)


class AiFailed(TuumFailed):
    """No answer of a model has come. `reason` says why, in English."""

    def __init__(self, node: str, reason: str) -> None:
        """Keep the reason."""
        super().__init__(f"{node}: the model gave no answer: {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """An answer of a model, and how it was asked for."""

    answer: Value
    node: str
    prompts: Value
    service: str
    options: Options
    number: int = 0
    """How often it was asked for again."""


@dataclass(slots=True)
class Staged:
    """What one run of a tuum proposes, and what it makes the result, until it publishes both."""

    operations: list[Emitted] = field(default_factory=list)
    ending: Ending = NO_ENDING
    asked: list[_Asked] = field(default_factory=list)
    """The answers that may be asked for once more."""


@dataclass(slots=True, kw_only=True)
class TuumWork:
    """See `Work`. That of one rune holds its type to what it says of itself, for by that it was told what the tuum may write."""

    ctx: RunContext
    node: str
    surroundings: Surroundings
    may_propose: Sequence[str] | None = None
    """The kinds of operations that it may propose, None for any."""
    opens_blocks: bool = False
    """Whether the answers of its models open blocks, as long as these have read nothing foreign."""
    staged: Staged = field(default_factory=Staged)
    rune: str = ""
    """The rune whose work it is, for people who look for what went wrong; "" for the tuum's own."""
    may_emit: bool = True
    may_end: bool = True

    def narrow(self, node: str, kind: AnyRuneType) -> "TuumWork":
        """Return the work of a rune of this type, which stages to the same place."""
        return TuumWork(  # not by `replace`, which would take a third of what a whole tuum takes
            ctx=self.ctx,
            node=self.node,
            surroundings=self.surroundings,
            may_propose=self.may_propose,
            opens_blocks=self.opens_blocks,
            staged=self.staged,
            rune=f"{node} ({kind.name})",
            may_emit=kind.emits or kind.name in _TOLD_BY_PARAMETERS,
            may_end=kind.is_terminal,
        )

    async def ask(
        self, node: str, prompts: Value, service: str, options: Options, *, is_streaming: bool, chunks: "Chunks | None" = None
    ) -> Value:
        """Return the answer of a model, which is asked once for each node; its marks of blocks are escaped, unless it opens blocks.

        Raises AiFailed, RunFailed if the run cannot go on, and NotStarted if it fails while this waits for its turn.
        """
        messages = _read_messages(node, prompts.data)
        request = RunModelRequest(
            messages=messages,
            service=service,
            options=join_options(options),
            origins=prompts.origins | AUTHOR,
            is_shown=is_streaming and chunks is None,
        )
        on_delta = chunks.take if chunks is not None and is_streaming else None
        try:
            if self.ctx.find_state(node) == "finished":
                answer = self._take_answer(await self.ctx.ask_model(node, request))
            else:
                async with self.surroundings.halt.hold(self.surroundings.bounds.find(service)):
                    answer = self._take_answer(await self.ctx.ask_model(node, request, on_delta))
        except RunFailed as error:
            if error.code != NO_ANSWER and error.code not in UNFIT:
                raise
            raise AiFailed(node, error.detail) from error
        self.staged.asked.append(_Asked(answer=answer, node=node, prompts=prompts, service=service, options=options))
        return answer

    async def ask_again(self, answer: Value, why: str) -> Value | None:
        """Return what the model says after it is told what is wrong with this answer; an answer to that waits for a retry."""
        asked = next((asked for asked in self.staged.asked if asked.answer is answer), None)
        if asked is None or (asked.number and not self.ctx.is_before_retry(f"{asked.node}/again{asked.number}")):
            return None
        message = {"role": "User", "content": build_complaint(why, ONLY_JSON)}
        prompts = Value([*asked.prompts.data, message], asked.prompts.origins | answer.origins)
        number = asked.number + 1
        again = await self.ask(f"{asked.node}/again{number}", prompts, asked.service, asked.options, is_streaming=False)
        self.staged.asked[-1] = replace(asked, answer=again, number=number)
        return again

    def _take_answer(self, answer: Value) -> Value:
        return answer if self.opens_blocks and not answer.is_foreign else escape_value(answer)

    async def run_script(self, node: str, script: Script, names: Mapping[str, Value]) -> Mapping[str, Value]:
        """Return the variables that a script gives; what it proposes is kept if it ends well. Raises TuumFailed."""
        calls = self._build_calls(node)
        functions = calls.list_functions(may_query=True, may_emit=True)
        async with self.surroundings.bounds.scripts:
            return await self._run(node, script, names, calls, functions, SCRIPT_LIMITS)

    async def run_callback(
        self, node: str, script: Script, names: Mapping[str, Value], foreign_marks: Sequence[str] = ()
    ) -> Mapping[str, Value]:
        """Return the variables that the callback of a chunk gives; `foreign_marks` open nothing in them. Raises TuumFailed."""
        calls = self._build_calls(node)
        functions = calls.list_functions(may_query=False, may_emit=False)
        return await self._run(node, script, names, calls, functions, CALLBACK_LIMITS, foreign_marks)

    def _build_calls(self, node: str) -> ScriptCalls:
        around = self.surroundings
        return ScriptCalls(node=node, query=self.query, show=self._show_now, blocks=around.blocks, player=around.player)

    async def _show_now(self, payload: DisplayUpdatePayload) -> None:
        await self.show(payload, NOWHERE)

    async def _run(
        self,
        node: str,
        script: Script,
        names: Mapping[str, Value],
        calls: ScriptCalls,
        functions: Mapping[str, Any],
        limits: ScriptLimits,
        foreign_marks: Sequence[str] = (),
    ) -> Mapping[str, Value]:
        missing = [name for name in script.consumes if name not in names]
        if missing:
            raise TuumFailed(f"{node}: there is no variable {missing[0]}")
        inputs = {name: names[name] for name in script.consumes}
        seed = f"{self.ctx.run.run_id}/{node}"
        scripts, now = self.surroundings.scripts, self.surroundings.clock
        play = partial(scripts.run, script.source, limits=limits, now=now, seed=seed)
        marked = MarkedPlay(inputs, self._show_now, foreign_marks)
        calls.show = marked.show
        try:
            value = await marked.run(play, functions)
        except ScriptFailed as error:
            place = f" (line {error.finding.line})" if error.finding.line else ""
            raise TuumFailed(f"{node}{place}: {error.finding.message}") from None
        for operation in calls.operations:
            self.emit(operation, value.origins)
        if not script.produces:
            return {}
        data = value.data
        if not isinstance(data, dict):
            raise TuumFailed(f"{node}: the last line of the script must be an object with {', '.join(script.produces)}")
        return {name: Value(data[name], value.origins) for name in script.produces if name in data}

    async def query(self, node: str, method: str, params: Mapping[str, Any]) -> Value:
        """Return what a reading method of the portal gives. Raises TuumFailed if it is not read, RunFailed in shadow mode."""
        outcome = await self.ctx.submit(node, RunEffect(method=method, params=restore_data(params), must_read=True))
        if outcome.status == "planned":
            raise RunFailed("workflow-shadow-unread", f"{node}: {method} is not read in shadow mode")
        if outcome.status != "succeeded":
            raise TuumFailed(f"{node}: {method} was not read ({outcome.status}): {outcome.detail}")
        return Value(escape_data(outcome.result), _PROSE)

    async def search_pattern(self, node: str, pattern: str, text: Value, *, is_all: bool = True) -> Value:
        """Return what a regular expression finds; it runs in the sandbox, where one that never ends is stopped. Raises TuumFailed."""
        script = Script.model_validate({"source": _SEARCH, "consumes": ["pattern", "text", "is_all"]})
        inputs = {"pattern": Value(pattern, AUTHOR), "text": text, "is_all": Value(is_all, AUTHOR)}
        try:
            async with self.surroundings.bounds.scripts:
                result = await self.surroundings.scripts.run(script.source, inputs, limits=SCRIPT_LIMITS, seed=node)
        except ScriptFailed as error:
            raise TuumFailed(f"{node}: {error.finding.message}") from None
        return result.value

    def emit(self, operation: AtomicOperation, origins: Origins, left_out: Sequence[str] | None = None) -> None:
        """Propose an operation without the fields `left_out`, by default those that are null by a model.

        Raises TuumFailed after too many, or for one that the tuum or the type of the rune does not propose.
        """
        self._check_type()
        self._check_proposals(operation)
        if len(self.staged.operations) >= MOST_OPERATIONS:
            raise TuumFailed(f"{self.node}: more than {MOST_OPERATIONS} operations")
        emitted = Emitted(operation=operation, origins=origins, left_out=tuple(left_out or ()))
        self.staged.operations.append(judge_nulls(emitted) if left_out is None else emitted)

    async def show(self, payload: DisplayUpdatePayload, origins: Origins) -> None:
        """Show something while the run goes on."""
        await self.surroundings.show(self.node, payload, origins)

    def end_with(self, *, raw_text: Value | None, operations: Value | None) -> None:
        """Make these values the result of the workflow. Raises TuumFailed for what the tuum or the type of the rune does not do."""
        if not self.may_end:
            raise TuumFailed(f"{self.rune}: runes of this type say that they make no result, and this one did")
        if operations is not None:
            self._check_type()
        if operations is not None and self.may_propose is not None:
            try:
                self._check_proposals(*(one.operation for one in read_operations(operations)))
            except OperationUnfit as error:
                raise TuumFailed(f"{self.node}: {error}") from None
        self.staged.ending = Ending(raw_text=raw_text, operations=operations)

    def _check_type(self) -> None:
        """Raise TuumFailed if the type of the rune does not say that it proposes operations: nobody was told of them."""
        if not self.may_emit:
            raise TuumFailed(f"{self.rune}: runes of this type say that they propose nothing, and this one did")

    def _check_proposals(self, *operations: AtomicOperation) -> None:
        """Raise TuumFailed for an operation that the tuum does not say it may propose."""
        try:
            check_proposals(operations, self.may_propose)
        except OperationUnfit as error:
            raise TuumFailed(f"{self.node}: {error}") from None


def _read_messages(node: str, prompts: Any) -> list[JsonObject]:
    """Return the messages of a prompt, which a script may have made as well. Raises TuumFailed if they are none."""
    if not isinstance(prompts, list) or not all(isinstance(prompt, dict) and {"role", "content"} <= prompt.keys() for prompt in prompts):
        raise TuumFailed(f"{node}: {PROMPTS} is no list of messages with role and content")
    if not prompts:
        raise TuumFailed(f"{node}: there is no prompt to ask with")
    messages: list[JsonObject] = [
        {"role": str(prompt["role"]).lower(), "content": restore_data(str(prompt["content"]))} for prompt in prompts
    ]
    if unknown := {message["role"] for message in messages} - _ROLES:
        raise TuumFailed(f"{node}: a message has the role {min(unknown)[:40]!r}; there are {', '.join(sorted(_ROLES))}")
    return messages


class _Chunk(NamedTuple):
    """A piece of an answer as it came: its text, and the seconds from the begin of the tuum."""

    added: str
    seconds: float


class Chunks:
    """Takes the pieces of one streamed answer, in order, and runs the callback for each (S003-43 … S003-45).

    The answer does not wait for callbacks: they come after it as fast as they can. One that fails or takes too long is skipped. After
    `MOST_FAILURES`, or `MOST_CALLBACK_SECONDS` in all, they are left alone: the answer matters more.
    """

    def __init__(self, work: TuumWork, callback: Script | None, variables: dict[str, Value], began: float) -> None:
        """Run `callback` with `variables`, which it may change; `began` is when the tuum began, on the monotonic clock."""
        self._work, self._callback, self._variables, self._began = work, callback, variables, began
        self._pieces: list[str] = []
        self._heard = ""
        """What the callback has been told of; pieces that it adds up itself may make a mark together."""
        self._waiting: deque[_Chunk] = deque()
        self._calling: asyncio.Task[None] | None = None
        self._failures = 0
        self._seconds = 0.0
        self._origins: Origins = _MODEL | join_origins(variables.values())

    @property
    def total(self) -> str:
        """All that has come."""
        return "".join(self._pieces)

    async def take(self, added: str) -> None:
        """Take the next piece."""
        self._pieces.append(added)
        if self._callback is None or not added or self._is_left_alone:
            return
        self._waiting.append(_Chunk(added, round(time.monotonic() - self._began, 3)))
        if self._calling is None or self._calling.done():
            self._calling = asyncio.create_task(self._call_all(self._callback))

    @property
    def _is_left_alone(self) -> bool:
        return self._failures >= MOST_FAILURES or self._seconds >= MOST_CALLBACK_SECONDS

    async def _call_all(self, callback: Script) -> None:
        while self._waiting and not self._is_left_alone:
            begun = time.monotonic()
            try:
                await self._call(callback, self._waiting.popleft())
            except Exception as error:  # noqa: BLE001 - whatever a callback raises, the answer goes on without it
                self._failures += 1
                log.warning("a callback was skipped: %s", error, extra={"action": "workflow_callback_skipped"})
            self._seconds += time.monotonic() - begun
        if self._waiting:
            log.warning("the callback of %s is left alone", self._work.node, extra={"action": "workflow_callback_left"})
            self._waiting.clear()

    async def _call(self, callback: Script, chunk: _Chunk) -> None:
        told = {ADDED_OUTPUT: self._take(chunk.added), EXECUTION_TIME: Value(chunk.seconds, AUTHOR)}
        self._heard += chunk.added
        if TOTAL_OUTPUT in callback.consumes:  # of a long answer it is long, and many callbacks only add up
            told[TOTAL_OUTPUT] = self._take(self._heard)
        adds_up = ADDED_OUTPUT in callback.consumes and "BLOCK" in self._heard and not self._opens_blocks
        marks = list_marks(self._heard) if adds_up else ()
        self._variables.update(await self._work.run_callback(f"{self._work.node}/callback", callback, self._variables | told, marks))

    def _take(self, text: str) -> Value:
        value = Value(text, self._origins)
        return value if self._opens_blocks else escape_value(value)

    @property
    def _opens_blocks(self) -> bool:
        return self._work.opens_blocks and not self._origins & FOREIGN

    async def wait(self) -> None:
        """Wait until the callback has run for all that came."""
        if self._calling is not None:
            await self._calling

    async def close(self) -> None:
        """End a callback that still runs, because nothing more is to be done for the answer."""
        if self._calling is not None and not self._calling.done():
            self._calling.cancel()
            await asyncio.gather(self._calling, return_exceptions=True)

    async def finish(self, node: str, answer: Value, *, was_answered: bool) -> None:
        """Keep what the callback has left in variables, so that a run that is played again finds the same.

        If the answer was remembered and what the callback left was not, it runs once more, for the whole answer in one piece.
        """
        callback = self._callback
        if callback is None or not callback.produces:
            return
        if was_answered and self._work.ctx.find_state(node) != "finished":
            await self.take(restore_data(str(answer.data)))
            await self.wait()
        stored, origins = self._list_left()

        async def make() -> JsonObject:
            return stored

        left = await self._work.ctx.memo(node, make, origins=origins)
        self._variables.update({name: Value.from_stored(one) for name, one in left.data.items()})

    async def keep_failure(self, node: str, reason: str, origins: Origins) -> Value:
        """Return what is left of an answer that failed: {error, text, variables}. It is kept, so that the model is not asked once more."""
        variables, more = self._list_left()
        told = {"error": reason, "text": self._take(self.total[:MOST_PARTIAL]).data, "variables": variables}

        async def make() -> JsonObject:
            return told

        return await self._work.ctx.memo(node, make, origins=origins | more | _MODEL)

    def _list_left(self) -> tuple[JsonObject, Origins]:
        """Return what the callback has left in variables, as JSON data, with where it comes from."""
        names = self._callback.produces if self._callback is not None else ()
        left = {name: self._variables[name] for name in names if name in self._variables}
        return {name: one.to_stored() for name, one in left.items()}, join_origins(left.values()) | AUTHOR
