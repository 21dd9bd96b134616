"""The CRM agent (S004-…). It makes no safety decision; a restarted turn runs again on recorded answers, so nothing is asked twice."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from engines.crm_agent.core import prompt, turn_work
from engines.crm_agent.core.created_records import Submitted, Waits, fill_created, find_created, find_held, list_following, list_missed
from engines.crm_agent.core.list_sending import stand_for_message, write_sent_list
from engines.crm_agent.core.lists import (
    complete_select,
    find_missing,
    find_shown_steps,
    hide_markers,
    list_placed_records,
)
from engines.crm_agent.core.observations import ObservationLine, build_skipped_line, format_line
from engines.crm_agent.core.plan import (
    NameQuestion,
    ask_person,
    build_state_entry,
    plan_steps,
    resume_question,
)
from engines.crm_agent.core.planned_steps import PlannedStep
from engines.crm_agent.core.run_offers import take_offers
from engines.crm_agent.core.setbacks import find_repeated
from engines.crm_agent.core.turn_end import finish_turn
from engines.crm_agent.core.turn_work import start_work
from engines.crm_agent.core.undo_step import run_undo_step
from engines.crm_agent.core.waiting_steps import name_waiting
from orchestrator.domain.actor import Mode
from orchestrator.domain.effect import STAND_IN, Effect
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.outputs import Notice
from orchestrator.domain.own_reads import SEND
from orchestrator.domain.undo_request import FIND_UNDO, PROPOSE_UNDO, UNDO_STEPS
from orchestrator.engines.base import EndReason, ListSource, TurnContext, TurnEnd, TurnModelRequest
from orchestrator.engines.crm_agent.assistant_stream import AssistantStream
from orchestrator.engines.crm_agent.blocks import Blocks, parse
from orchestrator.engines.crm_agent.grammar import Fence
from orchestrator.language.answer_script import has_stray_words
from state.stored import JsonObject

_STRAY_WORDS: Final = "ASSISTANT has words of another script; write all of it in the person's language."
MOST_PARSED: Final = 200


class CrmAgent:
    def __init__(
        self, *, constitution: str, protocol: str, methods: Callable[[Mode, bool], str], examples: str = "", max_iterations: int = 6
    ) -> None:
        self._heads = prompt.PromptHeads(constitution=constitution, protocol=protocol, examples=examples)
        self._methods = methods
        self._parsed: dict[str, Blocks] = {}
        self._max_iterations = max_iterations

    async def run(self, ctx: TurnContext) -> TurnEnd:
        """Raises ModelClientError when the model is unreachable or breaks the format twice."""
        return await _Turn(self, ctx).run()

    def build_head(self, mode: Mode, *, sees_all: bool, card: str, offered: Sequence[JsonObject]) -> Sequence[Mapping[str, str]]:
        return self._heads.build(mode, methods=self._methods(mode, sees_all), card=card, offered=offered)

    @property
    def max_iterations(self) -> int:
        return self._max_iterations

    def keep_parsed(self, answers: Mapping[str, Blocks]) -> None:
        self._parsed |= answers
        while len(self._parsed) > MOST_PARSED:
            del self._parsed[next(iter(self._parsed))]

    def find_parsed(self, text: str) -> Blocks | None:
        return self._parsed.get(text)


class _Turn:
    def __init__(self, agent: CrmAgent, ctx: TurnContext) -> None:
        self._agent = agent
        self._ctx = ctx
        self._fence = Fence()
        self._asked = 0
        self._parsed: dict[str, Blocks] = {}
        self._offered: Sequence[JsonObject] = ()
        self._results: dict[int, Submitted] = {}
        self._dialogue: list[dict[str, str]] = []
        self._is_told_missing = False
        self._words = ""
        self._work = start_work(ctx.turn, ctx.state, ctx.actor.key)
        self._work.waiting = name_waiting(ctx.waiting, ctx.turn.choice.question.waiting_steps if ctx.turn.choice else {})
        if ctx.told_provenance is not None:
            self._work.take_up(ctx.told_provenance)

    async def run(self) -> TurnEnd:
        """End when no steps are proposed, a person must decide, steps were only planned, an outcome is unknown, or the limit is reached."""
        base = await self._build_base_messages()
        for iteration in range(1, self._agent.max_iterations + 1):
            text, blocks = await self._find_next_answer(iteration, base)
            self._work.answer_prose = self._work.prose
            steps = [{"method": step.method, "params": step.params, "comment": step.comment} for step in blocks.steps]
            self._ctx.record_iteration(self._asked, {"thought": blocks.thought, "action": steps, "assistant": blocks.assistant})
            blocks = take_offers(blocks, self._offered, self._work, self._ctx.turn.turn_id)
            if not blocks.steps:
                missing = find_missing(self._work, blocks.assistant)
                if missing and not self._is_told_missing and iteration < self._agent.max_iterations:
                    self._tell_missing(text, missing)
                    continue
                return await self._finish("answered", blocks.assistant)
            over = await self._carry_out(iteration, text, blocks)
            if over is not None:
                return over
        self._work.notices.append(Notice(code="iteration-limit", args={"limit": self._agent.max_iterations}))
        return await self._finish("limit", "")

    def _tell_missing(self, text: str, missing: Sequence[str]) -> None:
        """Once a turn."""
        self._is_told_missing = True
        lists = [f"[[list {iteration}.{step}]]" for iteration, step in self._work.lists]
        self._dialogue.append({"role": "assistant", "content": text})
        self._dialogue.append(prompt.build_missing_message(missing, lists))

    async def _build_base_messages(self) -> list[Mapping[str, str]]:
        ctx = self._ctx
        when = await ctx.query("when", actor=ctx.actor)
        current = await ctx.query("current", state=ctx.state, actor=ctx.actor)
        card = await ctx.query("portal_card", actor=ctx.actor)
        self._offered = await ctx.query("startable", actor=ctx.actor)
        # The present message stands at the end of the prompt, and what this turn has answered before its cards stands after it.
        history = [line for line in ctx.state.history if line.turn_id != ctx.turn.turn_id]
        return [
            *self._agent.build_head(ctx.mode, sees_all=ctx.actor.sees == "all", card=card, offered=self._offered),
            *prompt.build_history_messages(history, self._fence),
            prompt.build_state_message(ctx.state, ctx.actor, ctx.mode, when, current, self._work.waiting, ctx.turn.turn_id),
            prompt.build_user_message(ctx.turn, self._work.text, self._fence),
        ]

    async def _find_next_answer(self, iteration: int, base: Sequence[Mapping[str, str]]) -> tuple[str, Blocks]:
        """`base` begins the prompt.

        After a person's choice the first answer is the recorded one that led to the question.
        """
        if iteration == 1 and self._ctx.turn.choice:
            self._dialogue.extend(prompt.restore_dialogue(self._ctx.turn.choice.question.dialogue, self._fence))
            text = await resume_question(self._ctx, self._work, self._ctx.turn.choice)
            return text, parse(text)
        return await self._ask_parsed(base, may_be_silent=0 < self._ctx.told_iterations < iteration or self._work.has_made)

    async def _ask_parsed(self, base: Sequence[Mapping[str, str]], *, may_be_silent: bool) -> tuple[str, Blocks]:
        """`may_be_silent`: the model need not say anything. An unreadable answer is asked for once more (S004-20)."""
        messages = [*base, *self._dialogue]
        text = await self._ask(messages)
        try:
            blocks = self._parse(text, may_be_silent=may_be_silent)
            if not has_stray_words(blocks.assistant, (message["content"] for message in messages)):
                return text, blocks
            reason = _STRAY_WORDS
        except ModelClientError as error:
            reason = error.reason
        repair = prompt.build_repair_message(reason, self._ctx.turn, self._work.text, self._fence)
        mended = await self._ask([*messages, {"role": "assistant", "content": text}, repair])
        return mended, self._parse(mended, may_be_silent=may_be_silent)

    def _parse(self, text: str, *, may_be_silent: bool) -> Blocks:
        known = self._agent.find_parsed(text) if self._asked <= self._ctx.told_answers else None
        self._parsed[text] = blocks = known if known is not None else parse(text, may_be_silent=may_be_silent)
        return blocks

    async def _ask(self, messages: Sequence[Mapping[str, str]]) -> str:
        self._asked += 1
        stream, visible = AssistantStream(), ""

        async def on_delta(delta: str) -> None:
            nonlocal visible
            fresh = stream.feed(delta)
            if fresh:
                visible += fresh
                await self._ctx.show_partial(hide_markers(visible))

        request = TurnModelRequest(iteration=self._asked, messages=messages, prose=self._work.prose)
        answer = await self._ctx.ask_model(request, on_delta)
        # After a crash, reads that were refused, or recorded by an older program, are made again and may give other text than the one on
        # which the recorded answer rests. Where that came from is stored with a turn that waits for its cards, else whether it was prose.
        is_unclear = answer.recorded and self._asked > 1 and not self._is_known_source()
        self._work.prose = self._work.prose or answer.prose or is_unclear
        return answer.text

    def _is_known_source(self) -> bool:
        return self._ctx.told_provenance is not None and self._asked <= self._ctx.told_answers

    async def _carry_out(self, iteration: int, text: str, blocks: Blocks) -> TurnEnd | None:
        plan = await plan_steps(self._ctx, self._work, iteration=iteration, steps=blocks.steps)
        if isinstance(plan, NameQuestion):
            dialogue = prompt.keep_dialogue(self._dialogue, self._fence)
            return await ask_person(self._ctx, self._work, iteration=iteration, answer=text, asking=plan, dialogue=dialogue)
        self._work.begin_iteration(iteration, [(planned.step.method, planned.step.params) for planned in plan])
        self._work.written = [step.params for step in blocks.steps]
        self._words = blocks.assistant
        self._work.proposed, self._work.asks_beside = await self._foresee(plan)
        observed = await self._run_steps(plan)
        if any(line.status == "unknown" for line in observed):
            return await self._finish("answered", "")  # never continue after a call that may or may not have happened
        if self._work.pending or self._work.planned:
            goes_on = bool(self._work.pending) and iteration < self._agent.max_iterations
            if goes_on:
                self._agent.keep_parsed(self._parsed)
            words = blocks.assistant if iteration > self._ctx.told_iterations else ""  # the person has read them before the first cards
            return await self._finish("waiting" if self._work.pending else "planned", words, goes_on=goes_on)
        if find_repeated(self._work.results) is not None:
            self._work.notices.append(Notice(code="refused-twice"))
            return await self._finish("limit", "")
        if self._is_over(blocks, plan, observed):
            return await self._finish("answered", blocks.assistant if iteration > self._ctx.told_iterations else "")
        self._add_observation(iteration, text, plan, observed)
        return None

    def _is_over(self, blocks: Blocks, plan: Sequence[PlannedStep], observed: Sequence[ObservationLine]) -> bool:
        """The model said that nothing is left after this plan, all of it is done or denied, and the answer shows what it has read."""
        if not blocks.steps[-1].last or not all(line.is_settled for line in observed):
            return False
        effects = [
            (number, self._build_effect(planned)) for number, planned in enumerate(plan, start=1) if planned.step.method != PROPOSE_UNDO
        ]
        reads = {number for number, effect in effects if self._is_read(effect)}
        missing = find_missing(self._work, blocks.assistant)
        return not missing and reads <= find_shown_steps(self._work, blocks.assistant)

    def _is_read(self, effect: Effect) -> bool:
        return effect.method == FIND_UNDO or not (effect.confirmation_decision or self._ctx.count_changes(effect))

    def _add_observation(self, iteration: int, text: str, plan: Sequence[PlannedStep], observed: Sequence[ObservationLine]) -> None:
        self._dialogue.append({"role": "assistant", "content": text})
        pairs = enumerate(zip(plan, observed, strict=True), start=1)
        lines = [format_line(number, one.step, line, one.taken) for number, (one, line) in pairs]
        decided = iteration == self._ctx.told_iterations
        self._dialogue.append(prompt.build_observation_message(iteration, lines, self._fence, is_decided=decided))

    async def _run_steps(self, plan: Sequence[PlannedStep]) -> list[ObservationLine]:
        """Return the model's line for each step."""
        observed: list[ObservationLine] = []
        halted = False
        self._results.clear()
        for number, planned in enumerate(plan, start=1):
            ends = self._work.mark() if self._ctx.is_told(planned.slot) else None
            line = build_skipped_line() if halted else await self._run_step(number, plan)
            observed.append(line)
            if ends is not None:
                self._work.go_back(ends)
                self._work.add_decided(planned.step.method, planned.step.params, line)
                halted = self._ctx.halt_on_block and line.status not in {"ok", "waiting"}
                continue
            if halted:
                self._work.rest.append(build_state_entry(planned, self._work))
                continue
            self._work.add_result(number, build_state_entry(planned, self._work), line)
            halted = self._ctx.halt_on_block and line.status not in {"ok", "planned"}
        return observed

    async def _run_step(self, number: int, plan: Sequence[PlannedStep]) -> ObservationLine:
        planned = plan[number - 1]
        if planned.problem is None:
            filled = await fill_created(self._ctx, planned, self._results)
            if isinstance(filled, Waits):
                self._results[number] = "waits"
                return turn_work.build_following_line(self._work, filled.number)
            planned = filled
        if planned.problem is not None:
            self._results[number] = "problem"
            return turn_work.build_unresolved_line(self._work, planned.problem)
        if planned.step.method == SEND:
            planned = await write_sent_list(self._ctx, self._work, planned, plan)
            if planned.problem is not None:
                self._results[number] = "problem"
                return turn_work.build_unresolved_line(self._work, planned.problem)
        step = planned.step
        if step.method in UNDO_STEPS:
            self._results[number] = "problem"  # it makes no record
            return await run_undo_step(self._ctx, self._work, number, planned)
        following = await list_following(self._ctx, plan, number, self._results)
        is_held = number in find_held(plan)
        effect = self._build_effect(planned).model_copy(
            update={"following": following, "is_held": is_held, "missed": list_missed(plan[: number - 1], self._results)}
        )
        result = self._results[number] = await self._ctx.submit(effect)
        self._work.add_namesakes(planned.namesakes)
        source = ListSource(method=step.method, params=step.params, by=self._ctx.actor.key, limit=planned.limit)
        read_as = turn_work.ReadAs(page=planned.page, source=source, limit=planned.limit)
        changes = self._ctx.count_changes(effect)
        return await turn_work.observe(self._ctx, self._work, number=number, result=result, read_as=read_as, changes=changes)

    def _build_effect(self, planned: PlannedStep) -> Effect:
        planned = stand_for_message(planned)
        step = planned.step
        return Effect(
            method=step.method,
            params=complete_select(step.method, step.params),
            comment=step.comment,
            provenance=self._work.build_provenance(list_placed_records(self._work, self._words)),
            requires_confirmation=step.requires_confirmation,
            confirmed=step.confirmed,
            confirmation_decision=step.confirmation_decision,
            withdraws=planned.replaces,
            notes=planned.notes,
            slot=planned.slot,
        )

    async def _foresee(self, plan: Sequence[PlannedStep]) -> tuple[int, bool]:
        """(number of changes, whether one of several needs consent, so that all go on the card)."""
        effects = [self._build_effect(planned) for planned in plan if planned.problem is None and planned.step.method not in UNDO_STEPS]
        counts = [self._ctx.count_changes(effect) for effect in effects]
        writing = [effect for effect, count in zip(effects, counts, strict=True) if count and not self._ctx.is_told(effect.slot)]
        self._work.proposed = sum(counts)
        several = len(writing) > 1  # one alone is judged when it is submitted
        if not several or not self._work.may_run_freely:
            return self._work.proposed, False
        provenance = self._work.build_provenance()
        known = [one.model_copy(update={"provenance": provenance}) for one in writing if not find_created(one.params)]
        asks = [await self._ctx.needs_consent(one) for one in known]
        for number in range(1, len(plan)):
            for step in await list_following(self._ctx, plan, number, {}):
                made = [(step.made, STAND_IN), *((record.kind, record.stand_in) for record in step.beside)]
                named_provenance = provenance.model_copy(update={"targets": provenance.targets | {f"{kind}:{one}" for kind, one in made}})
                effect = Effect(method=step.method, params=step.params, slot=step.slot, provenance=named_provenance)
                asks.append(await self._ctx.needs_consent(effect, made=made))
        return self._work.proposed, any(asks)

    async def _finish(self, reason: EndReason, assistant: str, *, goes_on: bool = False) -> TurnEnd:
        return await finish_turn(self._ctx, self._work, reason, assistant=assistant, goes_on=goes_on)
