"""What one turn of the CRM agent has learned, and what each result adds. No safety decision is made here."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final, assert_never

from engines.crm_agent.core.day_step import describe_day
from engines.crm_agent.core.message_orders import read_message
from engines.crm_agent.core.observations import ObservationLine
from engines.crm_agent.core.setbacks import StepResult
from orchestrator.directory.answers import OutcomeView, Unresolved
from orchestrator.directory.current_records import list_approved_records, list_current, list_numbers_in_hand
from orchestrator.domain.effect import MessageFacts, Outcome, Pending, Provenance
from orchestrator.domain.message_views import DailyBody
from orchestrator.domain.outputs import Action, Notice, Passage, Table
from orchestrator.domain.report import ReportAnswer, describe_report
from orchestrator.engines.base import ListSource, PlanStep, TurnContext, TurnInput
from orchestrator.language.word_runs import hash_runs
from state.model.session_state import HistoryLine, SessionState
from state.model.shown_lists import PROPOSED
from state.stored import JsonObject

_MOST_LABELS: Final = 200
_MOST_NAMED: Final = 50
_NUMBER = re.compile(r"(?<![\d.,])\d{1,10}(?![\d.,]*\d)")
_NUMBER_PARAMS = ("id", "ID", "taskId")
_ENTITIES = ("deal", "lead", "contact", "company", "task", "activity", "user")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadList:
    outcome: Outcome
    table: Table
    source: ListSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedReport:
    iteration: int
    step: int
    answer: ReportAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which rows come next: without the first `hidden` ones and the records `seen`; `first` is the number of the next."""

    first: int
    hidden: int = 0
    seen: tuple[str, ...] = ()

    def cut(self, outcome: Outcome) -> Outcome:
        rows = outcome.result if isinstance(outcome.result, list) else []
        seen = {one.rpartition(":")[2] for one in self.seen}
        rest = [row for row in rows[self.hidden :] if isinstance(row, Mapping) and str(row.get("ID") or row.get("id")) not in seen]
        return outcome.model_copy(update={"result": rest, "total": outcome.total if outcome.total is not None else len(rows), "sums": None})


@dataclass(kw_only=True)
class TurnWork:
    """What one turn has learned and done. `targets` were named by a person or created by a turn; `prose` never becomes False again."""

    text: str
    message: MessageFacts = field(default_factory=MessageFacts)
    """Its `changes` are not known here."""
    prose: bool = False
    answer_prose: bool = False
    """The last prompt held such text."""
    pasted: bool = False
    """Text of others came with the message."""
    made: int = 0
    """Changes of earlier iterations, or decided on cards."""
    proposed: int = 0
    asks_beside: bool = False
    made_now: int = 0
    runs: frozenset[int] = frozenset()
    """Text of others in the conversation, as hashes of its words."""
    targets: set[str] = field(default_factory=set)
    shown: frozenset[str] = frozenset()
    """See `Provenance.shown`; of earlier answers."""
    labels: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    undo_cards: dict[str, None] = field(default_factory=dict)
    planned: list[Outcome] = field(default_factory=list)
    written: Sequence[JsonObject] = ()
    results: list[StepResult] = field(default_factory=list)
    """Open ones stay in next_planned_actions (S004-X7)."""
    titles: dict[str, str] = field(default_factory=dict)
    rest: list[PlanStep] = field(default_factory=list)
    """Not reached by a halted plan; they stay in next_planned_actions, and the person is told."""
    iteration: int = 0
    """The one whose steps ran last; 0 before the first."""
    lists: dict[tuple[int, int], ReadList] = field(default_factory=dict)
    """By (iteration, step)."""
    reports: list["CountedReport"] = field(default_factory=list)
    days: dict[tuple[int, int], DailyBody] = field(default_factory=dict)
    passages: list[Passage] = field(default_factory=list)
    offers: dict[str, Action] = field(default_factory=dict)
    remembered: tuple[str, ...] = ()
    """Names that others may have written."""
    resolved: dict[str, object] = field(default_factory=dict)
    decided: list[str] = field(default_factory=list)
    waiting: Mapping[str, str] = field(default_factory=dict)
    """Confirmations that waited when the turn began → the names that STATE gives them."""

    def take_up(self, provenance: Provenance) -> None:
        self.targets |= provenance.targets
        self.shown |= provenance.shown
        self.message = provenance.message or MessageFacts()
        self.take_up_origins(provenance)

    def take_up_origins(self, provenance: Provenance) -> None:
        """Texts of others that an earlier step had read."""
        self.prose, self.pasted = self.prose or provenance.prose, self.pasted or provenance.pasted
        self.runs |= provenance.runs
        self.remembered = tuple(dict.fromkeys((*self.remembered, *provenance.external)))

    def begin_iteration(self, iteration: int, steps: Sequence[tuple[str, JsonObject]]) -> None:
        """`steps` are (method, params); those proposed again leave `rest`."""
        self.iteration = iteration
        self.made, self.made_now = self.made + self.made_now, 0
        self.rest = [entry for entry in self.rest if (entry.method, entry.params) not in steps]

    def mark(self) -> tuple[int, int, int, int]:
        """The present ends of what the person will be told, for `go_back`."""
        return len(self.notices), len(self.pending), len(self.planned), len(self.reports)

    def go_back(self, mark: tuple[int, int, int, int]) -> None:
        notices, pending, planned, reports = mark
        del self.reports[reports:]
        del self.notices[notices:]
        del self.pending[pending:]
        del self.planned[planned:]

    def add_decided(self, method: str, params: JsonObject, line: ObservationLine) -> None:
        """Of a denial only the first words; its reason stands apart."""
        number = next((str(params[name]) for name in _NUMBER_PARAMS if params.get(name)), "")
        what = f"{method} {number}".rstrip()
        if decided := str(line.told.get("decided") or ""):
            self.decided.append(f"{what} {decided}, done")
        elif line.is_denied:
            self.decided.append(f"{what} {str(line.told['text']).partition(',')[0].partition(';')[0]}")

    def add_result(self, number: int, entry: PlanStep, line: ObservationLine) -> None:
        model_params = self.written[number - 1] if number <= len(self.written) else {}
        entry = entry.with_values(confirmation_id=line.confirmation_id) if line.confirmation_id else entry
        self.results.append(
            StepResult(
                iteration=self.iteration,
                entry=entry,
                status=line.status,
                notice=line.notice,
                done_keys=line.done_keys,
                written=model_params,
            )
        )

    def add_namesakes(self, namesakes: JsonObject) -> None:
        """The person reads for whom a name was taken."""
        self.labels.extend(namesakes.values())
        self.notices.extend(Notice(code="name-means-all", args={"name": name, "labels": labels}) for name, labels in namesakes.items())

    def add_texts(self, texts: Sequence[str]) -> None:
        self.runs |= hash_runs(texts)

    @property
    def acted(self) -> bool:
        return bool(self.made or self.made_now or self.pending or self.planned or self.undo_cards)

    @property
    def has_made(self) -> bool:
        """Code tells of it, whatever the model says."""
        return bool(self.made or self.made_now) and not (self.pending or self.planned)

    @property
    def may_run_freely(self) -> bool:
        """The message orders as much as the answer proposes, so that not all of it asks a person."""
        return self.message.is_plain and self.made + self.proposed <= self.message.orders

    def build_provenance(self, placed: frozenset[str] = frozenset()) -> Provenance:
        """Where the words of the next step may come from, by which the gate judges it. `placed` are records that the answer shows."""
        return Provenance(
            shown=frozenset() if self.prose else self.shown | placed,
            message=self.message.model_copy(update={"changes": self.made + self.proposed, "asks_beside": self.asks_beside}),
            prose=self.prose,
            pasted=self.pasted,
            targets=frozenset(self.targets),
            external=(*self.remembered, *self.labels[-_MOST_LABELS:]),
            runs=self.runs,
            person_text=self.text,
        )


def start_work(turn: TurnInput, state: SessionState, by: str) -> TurnWork:
    """`by` is the person's key.

    Trusted records in hand are targets, too, and what the person has just approved: people speak of these without names, "not 500 but 550".
    """
    text = turn.choice.question.text if turn.choice else turn.text
    lines = [line for line in state.history if line.turn_id != turn.turn_id]
    own = hash_runs(line.text for line in lines if line.role == "user" and line.by in {"", by} and not line.quoted)
    shown_labels = (row.label for line in state.history for shown_labels in line.shown_lists for row in shown_labels.rows)
    work = TurnWork(
        text=text,
        shown=_list_shown_records(lines, state.trusted),
        message=read_message(text, turn, lines, by),
        prose=bool(turn.quoted),
        pasted=bool(turn.quoted),
        remembered=tuple(dict.fromkeys((*shown_labels, *filter(None, [turn.cited, turn.answered])))),
        # What the bot told may have stood in a record: it is nobody's word but where a person has said it, too.
        runs=hash_runs([turn.quoted, turn.answered, *(line.text for line in state.history if line.is_foreign)])
        | hash_runs(line.text for line in lines if line.role == "assistant") - own,
    )
    for number in _NUMBER.findall(f"{text.strip().partition(chr(10))[0]} {turn.cited}"):
        work.targets |= {f"{entity}:{int(number)}" for entity in _ENTITIES}
    trusted = set(state.trusted)
    work.targets |= list_approved_records(state, by)
    work.targets |= {target for kind, number in list_current(state).items() if (target := f"{kind}:{number}") in trusted}
    if trusted and (in_hand := list_numbers_in_hand(state)):
        work.targets |= {target for target in trusted if target[target.rfind(":") + 1 :] in in_hand}
    return work


def _list_shown_records(lines: Sequence[HistoryLine], trusted: Sequence[str]) -> frozenset[str]:
    """Of the answers since text of others was last read, or came with a message."""
    recent = list(takewhile(lambda line: not (line.is_foreign or line.quoted), reversed(lines)))
    rows = (row for line in recent for shown in line.shown_lists if shown.place != PROPOSED for row in shown.rows)
    return frozenset((*(row.record for row in rows if row.record), *(trusted if len(recent) > 1 else ())))


def build_unresolved_line(work: TurnWork, problem: Unresolved) -> ObservationLine:
    work.notices.append(problem.notice)
    return ObservationLine(status="refused", told={"text": problem.detail}, notice=problem.notice)


def build_following_line(work: TurnWork, number: int) -> ObservationLine:
    if work.planned:
        return ObservationLine(status="planned")
    return ObservationLine(status="waiting", told={"text": f"follows when step {number} has made its record; the card says so"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAs:
    page: Page | None = None
    source: ListSource | None = None
    limit: int = 0
    """From the beginning; 0 for all."""

    def cut(self, outcome: Outcome) -> Outcome:
        if self.page is not None:
            return self.page.cut(outcome)
        return outcome.cut(self.limit)


_WHOLE: Final = ReadAs()


async def observe(
    ctx: TurnContext, work: TurnWork, *, number: int, result: Outcome | Pending, read_as: ReadAs = _WHOLE, changes: int = 1
) -> ObservationLine:
    """Add the result to `work`; the step stands for `changes`."""
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
            return await _observe_success(ctx, work, number=number, outcome=result, read_as=read_as)
        case _:
            assert_never(result.status)


async def _observe_success(ctx: TurnContext, work: TurnWork, *, number: int, outcome: Outcome, read_as: ReadAs) -> ObservationLine:
    if outcome.reason is not None:  # the portal reported success and changed nothing: code tells the person, not the model
        work.notices.append(outcome.reason)
    details = await _learn(ctx, work, number=number, outcome=outcome, read_as=read_as)
    details = {**details, "decided": outcome.decided} if outcome.decided else details
    done = frozenset(item.key for item in outcome.commands if item.status == "success") if outcome.commands else None
    return ObservationLine(status="ok", told=details, done_keys=done)


async def _learn(ctx: TurnContext, work: TurnWork, *, number: int, outcome: Outcome, read_as: ReadAs) -> JsonObject:
    if outcome.created:
        work.targets.add(outcome.created)
    page, wanted_rows = read_as.page, read_as.cut(outcome)
    seen: OutcomeView = await ctx.query("present", outcome=wanted_rows, actor=ctx.actor)
    work.labels.extend(seen.labels)
    work.passages.extend(passage for passage in seen.passages if passage not in work.passages)
    if seen.prose:
        work.prose = True
        work.add_texts([*list_texts(seen.rows), seen.text, *(passage.text for passage in seen.passages)])
    if seen.table is not None:
        table = seen.table.model_copy(update={"first": page.first}) if page else seen.table
        if read_as.limit and (outcome.total or 0) > table.total:
            table = table.model_copy(update={"fitting": outcome.total})
        if page is None or table.rows:
            source = read_as.source if isinstance(outcome.result, list) else None  # else one record, or an answer of code
            work.lists[work.iteration, number] = ReadList(outcome=wanted_rows if read_as.limit else outcome, table=table, source=source)
    if seen.report is not None:
        work.reports.append(CountedReport(iteration=work.iteration, step=number, answer=seen.report))
        return describe_report(seen.report)
    if seen.day is not None:
        work.days[work.iteration, number] = seen.day
        return describe_day(seen.day)
    work.titles |= seen.titles
    work.targets |= await ctx.query("named", titles=seen.titles, text=work.text, actor=ctx.actor)
    first = page.first if page else 1
    last = first + len(seen.rows) - 1
    is_cut = seen.total is not None and bool(seen.rows) and (first > 1 or last < seen.total)
    others = "; code counts and shows the others, too" if seen.total is not None and last < seen.total else ""
    shown_rows = f"rows {first}-{last} of {seen.total}{others}" if is_cut else ""
    if page and not seen.rows:
        shown_rows = "no further rows can be read; a narrower filter shows the others"
    details = {
        "rows": list(seen.rows),
        "shown": shown_rows,
        "total": seen.total,
        "sum": seen.sum_text,
        "text": seen.text,
        "created": outcome.created,
        **_name_changed(work, outcome),
    }
    return {key: value for key, value in details.items() if value not in (None, "", [])}


def _name_changed(work: TurnWork, outcome: Outcome) -> JsonObject:
    """The records of a change, with their titles as far as they are known."""
    if outcome.title:
        work.labels.append(outcome.title)
    titles = {record: work.titles.get(record) or outcome.title for record in outcome.records[:_MOST_NAMED]}
    if len(titles) > 1:
        return {"records": titles}
    return next(({"record": record, "label": title} for record, title in titles.items()), {})


def list_texts(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in list_texts(item)]
    if isinstance(value, list | tuple):
        return [text for item in value for text in list_texts(item)]
    return [value] if isinstance(value, str) else []
