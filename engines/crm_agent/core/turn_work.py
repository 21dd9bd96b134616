"""The working state of one turn of the CRM agent: what it has learned so far, and what the result of each step adds.

It makes no safety decision.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

from engines.crm_agent.core.message_orders import read_message
from engines.crm_agent.core.setbacks import StepResult
from orchestrator.directory.answers import GroupedView, OutcomeView, Unresolved
from orchestrator.directory.current_records import list_current, list_numbers_in_hand
from orchestrator.domain.effect import MessageFacts, Provenance
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Action, Notice, Passage, Table
from orchestrator.engines.base import ListSource, PlanStep, TurnContext, TurnInput
from orchestrator.language.word_runs import hash_runs
from state.model.session_state import SessionState
from state.stored import JsonObject

_MOST_LABELS: Final = 200
_NUMBER = re.compile(r"(?<![\d.,])\d{1,10}(?![\d.,]*\d)")
_NUMBER_PARAMS = ("id", "ID", "taskId")
_ENTITIES = ("deal", "lead", "contact", "company", "task", "activity", "user")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadList:
    """A list that a step read: the outcome of its call, and the table that shows it."""

    outcome: Outcome
    table: Table
    source: ListSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which rows of a list come next: all but the first `hidden` ones and the records `seen`. `first` is the number of the first one."""

    first: int
    hidden: int = 0
    seen: tuple[str, ...] = ()

    def cut(self, outcome: Outcome) -> Outcome:
        """Return the outcome of a list with only these rows."""
        rows = outcome.result if isinstance(outcome.result, list) else []
        seen = {one.rpartition(":")[2] for one in self.seen}
        rest = [row for row in rows[self.hidden :] if isinstance(row, Mapping) and str(row.get("ID") or row.get("id")) not in seen]
        return outcome.model_copy(update={"result": rest, "total": outcome.total if outcome.total is not None else len(rows), "sums": None})


@dataclass(kw_only=True)
class TurnWork:
    """What one turn has learned and done so far, and the steps that ran, wait or did not run.

    `targets` are the records that a person named or a turn created, `labels` names and titles that the portal returned, and `notices`
    sentences for the person. `prose` is True once the model has read free text of other people; within the turn it never becomes False
    again.
    """

    text: str
    message: MessageFacts = field(default_factory=MessageFacts)
    """What the message orders; its `changes` are not known here but those of the answer."""
    prose: bool = False
    answer_prose: bool = False
    """Whether the prompt of the model's last answer held such text. What its steps read afterwards cannot stand in that answer."""
    pasted: bool = False
    """Whether text of others came with the person's message."""
    made: int = 0
    """How many changes the turn has made in earlier iterations, or had decided on cards; each takes one of the message's orders."""
    proposed: int = 0
    """How many changes the present answer proposes."""
    asks_beside: bool = False
    """Whether one of these needs the person's consent, so that all of them go on the card."""
    made_now: int = 0
    runs: frozenset[int] = frozenset()
    """What free text of others that the conversation has read says, as hashes of its words."""
    targets: set[str] = field(default_factory=set)
    labels: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    planned: list[Outcome] = field(default_factory=list)
    written: Sequence[JsonObject] = ()
    """The parameters of the answer's steps as the model wrote them, with names in place of numbers."""
    results: list[StepResult] = field(default_factory=list)
    """Every step and what became of it: those that are still to be done stay in next_planned_actions (S004-X7)."""
    titles: dict[str, str] = field(default_factory=dict)
    """The titles of the records that the turn has read: "deal:481" → «Ромашка»."""
    rest: list[PlanStep] = field(default_factory=list)
    """Steps that a halted plan did not reach: they stay in next_planned_actions too, and the person is told."""
    iteration: int = 0
    """The iteration whose steps ran last; 0 before the first."""
    lists: dict[tuple[int, int], ReadList] = field(default_factory=dict)
    """What the steps of the turn read that can be shown as a list, by (iteration, step)."""
    passages: list[Passage] = field(default_factory=list)
    """The passages of documents that the turn has read, which the person is shown below the answer."""
    offers: dict[str, Action] = field(default_factory=dict)
    """The buttons of scenarios and flows that the model offers, by kind and name."""
    remembered: tuple[str, ...] = ()
    """Names that others may have written: those in lists of earlier answers, which the prompt repeats, and those that a turn that goes on
    had read before its cards."""
    resolved: dict[str, object] = field(default_factory=dict)
    decided: list[str] = field(default_factory=list)
    """What people decided about the cards of this turn, a phrase for each step, for later prompts."""

    def take_up(self, provenance: Provenance) -> None:
        """Add where words came from when the turn began to wait for its cards, for a turn that goes on."""
        self.prose, self.pasted = self.prose or provenance.prose, self.pasted or provenance.pasted
        self.targets |= provenance.targets
        self.runs |= provenance.runs
        self.message = provenance.message or MessageFacts()
        self.remembered = tuple(dict.fromkeys((*self.remembered, *provenance.external)))

    def begin_iteration(self, iteration: int, steps: Sequence[tuple[str, JsonObject]]) -> None:
        """Start the iteration with the number `iteration` and `steps`, each given as (method, params).

        Steps that the model proposes again are removed from `rest`, the steps that a stopped plan did not reach.
        """
        self.iteration = iteration
        self.made, self.made_now = self.made + self.made_now, 0
        self.rest = [entry for entry in self.rest if (entry.method, entry.params) not in steps]

    def mark(self) -> tuple[int, int, int]:
        """Return the present ends of what the person will be told, for `go_back`."""
        return len(self.notices), len(self.pending), len(self.planned)

    def go_back(self, mark: tuple[int, int, int]) -> None:
        """Drop what was added since `mark`: the person was told it before the turn waited for its cards."""
        notices, pending, planned = mark
        del self.notices[notices:]
        del self.pending[pending:]
        del self.planned[planned:]

    def add_decided(self, method: str, params: JsonObject, line: "ObservationLine") -> None:
        """Keep for later prompts what a person decided about a step; of a denial only the first words, its reason stands apart."""
        number = next((str(params[name]) for name in _NUMBER_PARAMS if params.get(name)), "")
        what = f"{method} {number}".rstrip()
        if decided := str(line.told.get("decided") or ""):
            self.decided.append(f"{what} {decided}, done")
        elif (told := str(line.told.get("text") or "")).startswith("denied by "):
            self.decided.append(f"{what} {told.partition(',')[0].partition(';')[0]}")

    def add_result(self, number: int, entry: PlanStep, line: "ObservationLine") -> None:
        """Keep what became of the step `number` of the answer."""
        written = self.written[number - 1] if number <= len(self.written) else {}
        entry = entry.with_values(confirmation_id=line.confirmation_id) if line.confirmation_id else entry
        self.results.append(
            StepResult(
                iteration=self.iteration,
                entry=entry,
                status=line.status,
                notice=line.notice,
                done_keys=line.done_keys,
                written=written,
            )
        )

    def add_texts(self, texts: Sequence[str]) -> None:
        """Keep what free text of others says, so that nothing of it is written without a person's word."""
        self.runs |= hash_runs(texts)

    @property
    def acted(self) -> bool:
        """Whether the turn has made a change, or proposed one on a card."""
        return bool(self.made or self.made_now or self.pending or self.planned)

    @property
    def may_run_freely(self) -> bool:
        """Whether the message can carry all that the answer proposes, so that not all of it asks a person anyway."""
        return self.message.is_plain and self.made + self.proposed <= self.message.orders

    def build_provenance(self) -> Provenance:
        """Return where the words of the next step may come from (person, portal, text of others); the gate judges the step by it."""
        return Provenance(
            message=self.message.model_copy(update={"changes": self.made + self.proposed, "asks_beside": self.asks_beside}),
            prose=self.prose,
            pasted=self.pasted,
            targets=frozenset(self.targets),
            external=(*self.remembered, *self.labels[-_MOST_LABELS:]),
            runs=self.runs,
            person_text=self.text,
        )


def start_work(turn: TurnInput, state: SessionState, by: str) -> TurnWork:
    """Return the state at the start of a turn of the person with the key `by`.

    Its `targets` are the records whose numbers stand in the first line of the person's text, or in the part of the bot's answer that they
    quote, and the current records of the conversation, if these are trusted (named by a person or created by a turn). So are trusted
    records in steps that wait or did not run, and those that the last turn changed, because people speak of these without their names:
    "try again", "not 500 but 550".
    """
    text = turn.choice.question.text if turn.choice else turn.text
    lines = [line for line in state.history if line.turn_id != turn.turn_id]
    own = hash_runs(line.text for line in lines if line.role == "user" and line.by in {"", by} and not line.quoted)
    shown = (row.label for line in state.history for shown in line.shown_lists for row in shown.rows)
    work = TurnWork(
        text=text,
        message=read_message(text, turn, lines, by),
        prose=bool(turn.quoted),
        pasted=bool(turn.quoted),
        remembered=tuple(dict.fromkeys((*shown, *filter(None, [turn.cited])))),
        # What the bot told may have stood in a record: it is nobody's word but where a person has said it, too.
        runs=hash_runs([turn.quoted, *(line.text for line in state.history if line.is_foreign)])
        | hash_runs(line.text for line in lines if line.role == "assistant") - own,
    )
    for number in _NUMBER.findall(f"{text.strip().partition(chr(10))[0]} {turn.cited}"):
        work.targets |= {f"{entity}:{int(number)}" for entity in _ENTITIES}
    trusted = set(state.trusted)
    work.targets |= {one for kind, number in list_current(state).items() if (one := f"{kind}:{number}") in trusted}
    if trusted and (in_hand := list_numbers_in_hand(state)):
        work.targets |= {one for one in trusted if one[one.rfind(":") + 1 :] in in_hand}
    return work


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationLine:
    """What the model is told about the result of one step: a status, and in `told` further details such as the `rows` read."""

    status: str
    told: JsonObject = field(default_factory=dict)
    notice: Notice | None = None
    """The sentence that tells the person of a refusal."""
    confirmation_id: str = ""
    done_keys: frozenset[str] | None = None
    """The commands of a batch that ran; None for all."""


def format_line(number: int, method: str, line: ObservationLine, dates: Sequence[str]) -> JsonObject:
    """Return the line of the step `number` for the model, with what its days were taken for, so that the answer can name the period."""
    told = {**line.told, "dates": list(dates)} if dates else line.told
    return {"step": number, "method": method, "status": line.status, **told}


def build_unresolved_line(work: TurnWork, problem: Unresolved) -> ObservationLine:
    """Build the line for a step with an unresolved reference, and add the notice for the person to `work`."""
    work.notices.append(problem.notice)
    return ObservationLine(status="refused", told={"text": problem.detail}, notice=problem.notice)


def build_following_line(number: int) -> ObservationLine:
    """Build the line for a step that needs the record of step `number`, which waits for a person."""
    return ObservationLine(status="waiting", told={"text": f"follows when step {number} has made its record; the card says so"})


def build_skipped_line() -> ObservationLine:
    """Build the line for a step that was not begun, because the plan was stopped before it."""
    return ObservationLine(status="not_begun", told={"text": "the plan stopped before this step"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAs:
    """What to make of a list that a step reads: the field by which it is counted, the rows that are wanted, and how it can go on."""

    group_by: str = ""
    page: Page | None = None
    source: ListSource | None = None
    limit: int = 0
    """How many rows are wanted from the beginning of the list; 0 for all."""

    def cut(self, outcome: Outcome) -> Outcome:
        """Return the outcome of the list with only the wanted rows."""
        if self.page is not None:
            return self.page.cut(outcome)
        if not self.limit or not isinstance(outcome.result, list):
            return outcome
        rows = outcome.result[: self.limit]
        return outcome.model_copy(update={"result": rows, "total": len(rows), "sums": None})


_WHOLE: Final = ReadAs()


async def observe(
    ctx: TurnContext, work: TurnWork, *, number: int, result: Outcome | Pending, read_as: ReadAs = _WHOLE, changes: int = 1
) -> ObservationLine:
    """Build the line for the submitted step `number` from its result, and add the result to `work`. The step stands for `changes`."""
    if isinstance(result, Pending):
        work.pending.append(result)
        if result.notice is not None:
            work.notices.append(result.notice)
        return ObservationLine(status="waiting", told={"text": "a person was asked"}, confirmation_id=result.confirmation_id)
    if result.foreign_text:
        work.prose = True
        work.add_texts([result.detail, *(command.error for command in result.commands)])
    if result.decided or (result.call_class not in {"", "R"} and result.status in {"succeeded", "unknown"}):
        work.made_now += changes
    match result.status:
        case "planned":
            work.planned.append(result)
            return ObservationLine(status=result.status)
        case "refused" | "unknown":
            if result.reason is not None:
                work.notices.append(result.reason)
            return ObservationLine(status=result.status, told={"text": result.detail}, notice=result.reason)
        case "succeeded":
            if result.reason is not None:  # the portal reported success and changed nothing: code tells the person, not the model
                work.notices.append(result.reason)
            told = await _learn(ctx, work, number=number, outcome=result, read_as=read_as)
            told = {**told, "decided": result.decided} if result.decided else told
            done = frozenset(item.key for item in result.commands if item.status == "success") if result.commands else None
            return ObservationLine(status="ok", told=told, done_keys=done)
        case _:
            assert_never(result.status)


async def _learn(ctx: TurnContext, work: TurnWork, *, number: int, outcome: Outcome, read_as: ReadAs) -> JsonObject:
    """Add to `work` what a successful call returned, and return the details of it that the model is told.

    Added are the names and titles in the answer, whether it holds free text of others, the table for the person, and the records that the
    call created or that the person's message names.
    """
    if outcome.created:
        work.targets.add(outcome.created)
    if read_as.group_by:
        return await _learn_groups(ctx, work, number=number, outcome=outcome, by=read_as.group_by)
    page, wanted = read_as.page, read_as.cut(outcome)
    seen: OutcomeView = await ctx.query("present", outcome=wanted, actor=ctx.actor)
    work.labels.extend(seen.labels)
    work.passages.extend(passage for passage in seen.passages if passage not in work.passages)
    if seen.prose:
        work.prose = True
        work.add_texts([*list_texts(seen.rows), seen.text, *(passage.text for passage in seen.passages)])
    if seen.table is not None:
        table = seen.table.model_copy(update={"first": page.first}) if page else seen.table
        if page is None or table.rows:
            work.lists[work.iteration, number] = ReadList(outcome=wanted if read_as.limit else outcome, table=table, source=read_as.source)
    work.titles |= seen.titles
    work.targets |= await ctx.query("named", titles=seen.titles, text=work.text, actor=ctx.actor)
    first = page.first if page else 1
    last = first + len(seen.rows) - 1
    is_cut = seen.total is not None and bool(seen.rows) and (first > 1 or last < seen.total)
    others = "; code counts and shows the others, too" if seen.total is not None and last < seen.total else ""
    shown = f"rows {first}-{last} of {seen.total}{others}" if is_cut else ""
    if page and not seen.rows:
        shown = "no further rows can be read; a narrower filter shows the others"
    told = {
        "rows": list(seen.rows),
        "shown": shown,
        "total": seen.total,
        "sum": seen.sum_text,
        "text": seen.text,
        "created": outcome.created,
    }
    return {key: value for key, value in told.items() if value not in (None, "", [])}


def list_texts(value: object) -> list[str]:
    """Return the texts in JSON data, at any depth."""
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in list_texts(item)]
    if isinstance(value, list | tuple):
        return [text for item in value for text in list_texts(item)]
    return [value] if isinstance(value, str) else []


async def _learn_groups(ctx: TurnContext, work: TurnWork, *, number: int, outcome: Outcome, by: str) -> JsonObject:
    """Add to `work` the groups of a list that was read, and return what the model is told of them, or why there are none."""
    seen: GroupedView = await ctx.query("group", outcome=outcome, by=by, actor=ctx.actor)
    work.labels.extend(seen.labels)
    if seen.prose:
        work.prose = True
        work.add_texts(list_texts(seen.rows))
    if seen.table is None:
        return {"text": seen.trouble}
    work.lists[work.iteration, number] = ReadList(outcome=outcome, table=seen.table)
    told = {"groups": list(seen.rows), "total": seen.table.total, "sum": seen.table.sum_text}
    return {key: value for key, value in told.items() if value != ""}
