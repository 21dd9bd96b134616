"""Steps undo.find and undo.propose: what the person themself has changed, and cards that take it back."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from engines.crm_agent.core.observations import ObservationLine
from engines.crm_agent.core.planned_steps import PlannedStep
from engines.crm_agent.core.turn_work import ReadList, TurnWork
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Row, Table
from orchestrator.domain.undo_request import FIND_UNDO, OwnChange, UndoAnswer, UndoRequest
from orchestrator.engines.base import TurnContext
from orchestrator.engines.crm_agent.blocks import Step
from state.stored import JsonObject

_RECORDS: Final = ("deal", "lead", "contact", "company", "task", "activity")
SINCE: Final = "since"
_CHANGES: Final = "changes"
_LONGEST_ID: Final = 9
_FORMS: Final = (
    "undo.find and undo.propose take one record (deal, lead, contact, company, task or activity), since, or changes: "
    "ids from undo.find; nothing means the last change"
)
_NONE: Final = "this person has changed nothing like that through the bot; changes of others and in the portal are taken back by hand"


_BOUND: Final = ">=DATE_CREATE"


def build_since_step(step: Step) -> Step:
    """A list whose filter has the moment from which changes are meant."""
    return replace(step, method="crm.deal.list", params={"filter": {_BOUND: step.params[SINCE]}})


def take_since(settled: PlannedStep, dated: PlannedStep) -> PlannedStep:
    """`dated` is that list with its day resolved."""
    if dated.problem is not None:
        return replace(settled, problem=dated.problem)
    params = {**settled.step.params, SINCE: dated.step.params["filter"][_BOUND]}
    return replace(settled, step=replace(settled.step, params=params), dates=dated.dates)


def parse_request(params: JsonObject) -> UndoRequest | None:
    """None if it names something else."""
    request = UndoRequest()
    for name, value in params.items():
        if (
            name in _RECORDS
            and (number := str(value)).isascii()
            and number.isdecimal()
            and len(number) <= _LONGEST_ID
            and not request.record
        ):
            request = request.model_copy(update={"record": f"{name}:{int(number)}"})
        elif name == SINCE and _is_moment(value):
            request = request.model_copy(update={"since": str(value)})
        elif name == _CHANGES and isinstance(value, list) and value and all(isinstance(one, str) and one for one in value):
            request = request.model_copy(update={"changes": tuple(value)})
        else:
            return None
    return request


def _is_moment(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value) is not None
    except ValueError:
        return False


async def run_undo_step(ctx: TurnContext, work: TurnWork, number: int, planned: PlannedStep) -> ObservationLine:
    step = planned.step
    request = parse_request(step.params)
    if request is None:
        return ObservationLine(status="refused", told={"text": _FORMS})
    if step.method == FIND_UNDO:
        found = await ctx.find_own_changes(request)
        return (
            _show(work, number, found) if found is not None and found.changes else ObservationLine(status="refused", told={"text": _NONE})
        )
    answer = await ctx.propose_undo(request, planned.slot, work.build_provenance())
    if answer is None or not answer.changes:
        return ObservationLine(status="refused", told={"text": _NONE})
    work.labels.extend(one.title for one in answer.changes if one.title)
    if work.iteration > ctx.told_iterations:  # else the person has had the cards, and read why there are no others
        work.undo_cards |= dict.fromkeys(answer.cards)
        work.notices.extend(answer.notices)
    told = {"rows": list(_list_rows(answer)), "text": _describe_cards(answer)}
    return ObservationLine(status="ok" if answer.cards else "refused", told=told)


def _describe_cards(answer: UndoAnswer) -> str:
    if not answer.cards:
        return "nothing of this can be taken back; code has told the person why"
    refused = f"; code has told the person why {len(answer.notices)} others cannot be taken back" if answer.notices else ""
    return f"{len(answer.cards)} steps wait on the person's card, nothing is taken back yet{refused}"


def _show(work: TurnWork, number: int, found: UndoAnswer) -> ObservationLine:
    rows = tuple(Row(label=one.label, target=one.record) for one in found.changes)
    table = Table(rows=rows, total=len(rows) + found.left_out)
    outcome = Outcome(status="succeeded", effect_id="", method=FIND_UNDO, call_class="R")
    work.lists[work.iteration, number] = ReadList(outcome=outcome, table=table)
    work.labels.extend(one.title for one in found.changes if one.title)
    return ObservationLine(status="ok", told={"rows": list(_list_rows(found)), "total": table.total})


def _list_rows(answer: UndoAnswer) -> Iterator[JsonObject]:
    for one in answer.changes:
        yield {name: value for name, value in _to_row(one).items() if value}


def _to_row(change: OwnChange) -> JsonObject:
    return {
        "change": change.change,
        "when": change.when,
        "did": change.did,
        "record": change.record,
        "title": change.title,
        "fields": list(change.fields),
        "undone": "yes" if change.undone else "",
    }
