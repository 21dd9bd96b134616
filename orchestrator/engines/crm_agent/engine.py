"""The CRM agent (seed 004): model → blocks → references → gate → observation, until nothing is left to do or a person is needed.

It decides nothing about safety: every step goes through `ctx.submit`. After a restart it runs from its top; recorded answers and effect
slots make it arrive where it stopped without asking the model or the portal twice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never
from uuid import uuid5

from orchestrator.directory.answers import Presented, Resolved, Several, Unresolved
from orchestrator.engines.base import EndReason, ModelRequest, TurnContext, TurnEnd
from orchestrator.engines.crm_agent import prompt
from orchestrator.engines.crm_agent.assistant_stream import AssistantStream
from orchestrator.engines.crm_agent.blocks import Blocks, Step, parse
from orchestrator.engines.crm_agent.fence import Fence
from orchestrator.engines.crm_agent.references import find_references, substitute
from orchestrator.engines.crm_agent.replies import with_tables
from orchestrator.engines.crm_agent.work import start
from orchestrator.errors import ModelClientError
from orchestrator.messages import Choice, Effect, Mode, Notice, Outcome, Pending, Reply
from state.clock import UUID_NAMESPACE
from state.events import NameAsked, NameChosen, PlanRecorded

_FOREIGN = frozenset({"portal-refused", "outcome-unknown", "portal-unreadable"})
_Settled = tuple[Step, Unresolved | None]
WITHHELD = "[answer contained text from the CRM; it is not repeated here]"


@dataclass(frozen=True, kw_only=True)
class _Asking:
    """A reference that only the person can settle."""

    reference: str
    several: Several


class CrmAgent:
    """See the module docstring."""

    def __init__(self, *, constitution: str, protocol: str, methods: Callable[[Mode], str], max_iterations: int = 6) -> None:
        """`methods` describes the methods of a mode for the model."""
        self._constitution = constitution
        self._protocol = protocol
        self._methods = methods
        self._max_iterations = max_iterations

    async def run(self, ctx: TurnContext) -> TurnEnd:
        """One turn; raises ModelClientError when the model is unreachable or breaks the format twice."""
        return await _Turn(self, ctx).run()

    def system(self, mode: Mode) -> dict[str, str]:
        """The static part of the prompt."""
        return prompt.system_message(self._constitution, self._protocol, self._methods(mode), mode)

    @property
    def max_iterations(self) -> int:
        """How often the model may be asked for steps in one turn."""
        return self._max_iterations


class _Turn:
    """The state of one run of the agent."""

    def __init__(self, agent: CrmAgent, ctx: TurnContext) -> None:
        self._agent = agent
        self._ctx = ctx
        self._fence = Fence()
        self._asked = 0
        self._dialogue: list[dict[str, str]] = []
        question = ctx.turn.choice.get("question") or {}
        self._question: Mapping[str, Any] = question
        self._text = question["text"] if question else ctx.turn.text
        self._work = start(self._text, ctx.turn.quoted, ctx.state)

    async def run(self) -> TurnEnd:
        """Iterations until the turn ends."""
        base = await self._base()
        for iteration in range(1, self._agent.max_iterations + 1):
            if iteration == 1 and self._question:
                text, blocks = await self._resume_question()
            else:
                text, blocks = await self._answer(base)
            self._note(blocks)
            if not blocks.steps:
                return self._end("answered", blocks.assistant)
            ended = await self._carry_out(iteration, text, blocks)
            if ended is not None:
                return ended
        self._work.notices.append(Notice(code="iteration-limit", args={"limit": self._agent.max_iterations}))
        return self._end("limit", "")

    async def _base(self) -> list[dict[str, str]]:
        ctx = self._ctx
        when = await ctx.query("when", actor=ctx.actor)
        current = await ctx.query("current", state=ctx.state, actor=ctx.actor)
        history = list(ctx.state["history"])
        if history and history[-1]["role"] == "user" and history[-1]["text"] == self._text:
            history.pop()  # the present message stands at the end of the prompt
        return [
            self._agent.system(ctx.mode),
            prompt.state_message(ctx.state, ctx.actor, ctx.mode, when, current),
            *prompt.history_messages(history),
            prompt.user_message(self._text, ctx.turn.quoted, self._fence),
        ]

    async def _answer(self, base: Sequence[Mapping[str, str]]) -> tuple[str, Blocks]:
        """One parsed answer, with one repair request when the first cannot be read (S004-20)."""
        messages = [*base, *self._dialogue]
        text = await self._ask(messages)
        try:
            return text, parse(text)
        except ModelClientError as error:
            mended = await self._ask([*messages, {"role": "assistant", "content": text}, prompt.repair_message(error.reason)])
            return mended, parse(mended)

    async def _ask(self, messages: Sequence[Mapping[str, str]]) -> str:
        self._asked += 1
        stream, shown = AssistantStream(), ""

        async def on_delta(delta: str) -> None:
            nonlocal shown
            fresh = stream.feed(delta)
            if fresh:
                shown += fresh
                await self._ctx.partial(shown)

        request = ModelRequest(iteration=self._asked, messages=messages, prose=self._work.prose)
        answer = await self._ctx.ask_model(request, on_delta)
        # What was read before a restart is read again and may have changed: the recorded answer still stems from the old text.
        self._work.prose = self._work.prose or answer.prose or (answer.recorded and self._asked > 1)
        return answer.text

    async def _resume_question(self) -> tuple[str, Blocks]:
        """Go on with the recorded plan now that the person chose (the model is not asked again)."""
        choice = self._ctx.turn.choice
        self._work.prose = self._work.prose or self._question["prose"]
        self._work.labels.extend(self._question["labels"])
        self._work.resolved = dict(self._question["resolved"]) | {self._question["reference"]: choice["value"]}
        self._work.targets |= set(choice.get("targets") or ())
        await self._ctx.record(
            NameChosen(
                turn_id=self._ctx.turn.turn_id,
                question_id=self._question["question_id"],
                reference=self._question["reference"],
                value=choice["value"],
                label=choice.get("label", ""),
            )
        )
        return self._question["answer"], parse(self._question["answer"])

    async def _carry_out(self, iteration: int, text: str, blocks: Blocks) -> TurnEnd | None:
        """Run the plan of one iteration; a TurnEnd when the turn is over."""
        recorded = self._ctx.recorded_plan(iteration)
        steps = self._as_recorded(blocks, recorded) if recorded is not None else await self._settled(blocks)
        if isinstance(steps, _Asking):
            return await self._ask_person(iteration, text, steps)
        if recorded is None:
            await self._record_plan(iteration, steps)
        self._work.tables.clear()  # [[list N]] means the last executed iteration
        observed = []
        for number, (step, problem) in enumerate(steps, start=1):
            if problem is not None:
                self._work.notices.append(problem.notice)
                observed.append({"step": number, "method": step.method, "status": "refused", "text": problem.detail})
            else:
                observed.append(await self._run_step(iteration, number, step))
            if observed[-1]["status"] != "ok":
                self._leave(iteration, number, step)
            if self._blocked(observed[-1]):
                break
        if any(line["status"] == "unknown" for line in observed):
            return self._end("answered", "")  # nobody goes on from a call that may or may not have happened
        if self._work.pending or self._work.planned:
            return self._end("waiting" if self._work.pending else "planned", blocks.assistant)
        self._dialogue.append({"role": "assistant", "content": text})
        self._dialogue.append(prompt.observation_message(iteration, observed, self._fence))
        return None

    async def _settled(self, blocks: Blocks) -> "list[_Settled] | _Asking":
        """Every step with its names resolved; the first name that needs the person stops the plan before anything ran."""
        steps: list[_Settled] = []
        for step in blocks.steps:
            settled = await self._settle_names(step)
            if isinstance(settled, _Asking):
                return settled
            steps.append(settled)
        return steps

    def _as_recorded(self, blocks: Blocks, recorded: Mapping[str, Any]) -> "list[_Settled]":
        """The plan as it was settled before a restart: names are not looked up anew, since the plan itself may have changed the answer."""
        self._work.targets |= set(recorded["targets"])
        pairs = zip(blocks.steps, recorded["steps"], strict=True)
        return [(replace(step, params=entry["params"]), _problem(entry)) for step, entry in pairs]

    def _leave(self, iteration: int, number: int, step: Step) -> None:
        left = {"slot": self._slot(iteration, number), "method": step.method, "params": step.params, "comment": step.comment}
        self._work.left.append(left | self._mark())

    def _mark(self) -> dict[str, bool]:
        """Set on what the model wrote after prose: later prompts keep its words out."""
        return {"prose": True} if self._work.prose else {}

    def _blocked(self, observed: Mapping[str, Any]) -> bool:
        return self._ctx.halt_on_block and observed["status"] not in {"ok", "planned"}

    async def _settle_names(self, step: Step) -> "_Settled | _Asking":
        """Put values for the references of a step."""
        values: dict[str, Any] = {}
        for reference in find_references(step.params):
            if reference in self._work.resolved:
                values[reference] = self._work.resolved[reference]
                continue
            found = await self._ctx.query(
                "resolve",
                reference=reference,
                method=step.method,
                params=substitute(step.params, values),
                actor=self._ctx.actor,
                state=self._ctx.state,
                text=self._text,
            )
            match found:
                case Resolved():
                    values[reference] = found.value
                    if found.target and found.named:
                        self._work.targets.add(found.target)
                case Several():
                    return _Asking(reference=reference, several=found)
                case Unresolved():
                    return step, found
                case _:
                    assert_never(found)
        return replace(step, params=substitute(step.params, values)), None

    async def _ask_person(self, iteration: int, text: str, asking: _Asking) -> TurnEnd:
        """End the turn with buttons; the plan is recorded and goes on when one is pressed."""
        turn_id = self._ctx.turn.turn_id
        question_id = uuid5(UUID_NAMESPACE, f"{turn_id}/{iteration}/{asking.reference}").hex[:12]
        options = [{"value": item.value, "label": item.label, "target": item.target} for item in asking.several.options]
        await self._ctx.record(
            NameAsked(
                turn_id=turn_id,
                question_id=question_id,
                iteration=max(iteration, self._question.get("iteration", 1)),
                reference=asking.reference,
                options=options,
                text=self._text,
                answer=text,
                resolved=self._work.resolved,
                ask=asking.several.ask.model_dump(mode="json"),
                prose=self._work.prose,
                labels=self._work.labels[-100:],
            )
        )
        choices = tuple(Choice(token=f"{question_id}:{index}", label=option["label"]) for index, option in enumerate(options))
        reply = Reply(notices=(*self._work.notices, asking.several.ask), choices=choices, turn_id=turn_id)
        return TurnEnd(reason="asked", reply=reply, history="", targets=frozenset(self._work.targets))

    async def _record_plan(self, iteration: int, settled: "Sequence[_Settled]") -> None:
        steps = [
            {"slot": self._slot(iteration, number), "method": step.method, "params": step.params, "comment": step.comment}
            | self._mark()
            | ({"problem": {**problem.notice.model_dump(mode="json"), "detail": problem.detail}} if problem else {})
            for number, (step, problem) in enumerate(settled, start=1)
        ]
        await self._ctx.record(
            PlanRecorded(
                turn_id=self._ctx.turn.turn_id,
                iteration=iteration,
                mode=self._ctx.mode,
                steps=steps,
                executed=self._ctx.mode != "shadow",
                targets=sorted(self._work.targets)[:200],
            )
        )

    def _slot(self, iteration: int, number: int) -> str:
        return f"{self._ctx.turn.turn_id}/{iteration}/{number}"

    async def _run_step(self, iteration: int, number: int, step: Step) -> dict[str, Any]:
        effect = Effect(
            method=step.method,
            params=step.params,
            comment=step.comment,
            provenance=self._work.provenance(),
            requires_confirmation=step.requires_confirmation,
            confirmed=step.confirmed,
            confirmation_decision=step.confirmation_decision,
            slot=self._slot(iteration, number),
        )
        result = await self._ctx.submit(effect)
        if isinstance(result, Pending):
            self._work.pending.append(result)
            return {"step": number, "method": step.method, "status": "waiting", "text": "a person was asked"}
        return await self._observe(number, step, result)

    async def _observe(self, number: int, step: Step, outcome: Outcome) -> dict[str, Any]:
        line: dict[str, Any] = {"step": number, "method": step.method, "status": outcome.status}
        match outcome.status:
            case "planned":
                self._work.planned.append(outcome)
            case "refused" | "unknown":
                if outcome.reason is not None:
                    self._work.notices.append(outcome.reason)
                line["text"] = outcome.detail
                if outcome.reason is not None and outcome.reason.code in _FOREIGN:
                    self._work.prose = True  # the portal's sentence may quote anybody
            case "succeeded":
                line["status"] = "ok"
                if outcome.reason is not None:  # the portal said yes and changed nothing: the person hears it from code
                    self._work.notices.append(outcome.reason)
                line |= await self._learn(number, outcome)
            case _:
                assert_never(outcome.status)
        return line

    async def _learn(self, number: int, outcome: Outcome) -> dict[str, Any]:
        """Take in what a successful call showed: labels, prose, created and named records."""
        if outcome.created:
            self._work.targets.add(outcome.created)
        seen: Presented = await self._ctx.query("present", outcome=outcome, actor=self._ctx.actor)
        self._work.labels.extend(seen.labels)
        self._work.prose = self._work.prose or seen.prose
        if seen.table is not None:
            self._work.tables[number] = seen.table
        named = await self._ctx.query("named", titles=seen.titles, text=self._text, actor=self._ctx.actor)
        self._work.targets |= named
        shown: dict[str, Any] = {"rows": list(seen.rows)} if seen.rows else {}
        extra = {"total": seen.total, "sum": seen.sum_text, "text": seen.text, "created": outcome.created}
        return shown | {key: value for key, value in extra.items() if value not in (None, "")}

    def _note(self, blocks: Blocks) -> None:
        steps = [{"method": step.method, "params": step.params, "comment": step.comment} for step in blocks.steps]
        self._ctx.note_iteration(self._asked, {"thought": blocks.thought, "action": steps, "assistant": blocks.assistant})

    def _end(self, reason: EndReason, assistant: str) -> TurnEnd:
        work = self._work
        notices = list(work.notices)
        if work.planned:
            items = [{"method": item.method, "preview": dict(item.preview)} for item in work.planned]
            notices.insert(0, Notice(code="shadow-plan", args={"items": items}))
        reply = Reply(
            parts=with_tables(assistant if not work.planned else "", work.tables),
            notices=tuple(_unique(notices)),
            confirmations=tuple(dict.fromkeys(item.confirmation_id for item in work.pending)),
            turn_id=self._ctx.turn.turn_id,
        )
        history = WITHHELD if work.prose else assistant
        return TurnEnd(reason=reason, reply=reply, history=history, next_planned_actions=tuple(work.left), targets=frozenset(work.targets))


def _problem(entry: Mapping[str, Any]) -> Unresolved | None:
    problem = entry.get("problem")
    if problem is None:
        return None
    return Unresolved(notice=Notice(code=problem["code"], args=problem["args"]), detail=problem["detail"])


def _unique(notices: Sequence[Notice]) -> list[Notice]:
    kept: list[Notice] = []
    for notice in notices:
        if notice not in kept:
            kept.append(notice)
    return kept
