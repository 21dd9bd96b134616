"""Builds the end of a turn: the reply, and what later prompts are told of it."""

from collections.abc import Iterator, Sequence
from typing import Final

from engines.crm_agent.core.day_step import build_day_parts, list_day_rows
from engines.crm_agent.core.lists import PlacedLists, list_order, place_lists
from engines.crm_agent.core.prompt import build_marker
from engines.crm_agent.core.setbacks import Answer, find_recovered, list_open_steps
from engines.crm_agent.core.turn_work import TurnWork
from orchestrator.domain.card_view import Preview
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Notice, Reply, ReportPart, Table, Text
from orchestrator.domain.report import FILE, ReportAnswer, describe_report
from orchestrator.engines.base import REST_AFTER_CARD, REST_NOT_BEGUN, EndReason, TurnContext, TurnEnd
from orchestrator.language.answer_digits import keep_known_numbers
from orchestrator.language.denials import say_instead, says_unable
from orchestrator.language.text import Locale
from state.canonical import hash_text
from state.events.reports import ReportShown
from state.model.shown_lists import PROPOSED, ShownList, ShownRow
from state.stored import JsonObject

NOT_RUN = "[shadow mode: the person was shown a plan; nothing was run]"
NOT_DONE = "[written before its steps were judged: what waits for a person is not done]"
MOST_PROPOSED: Final = 10
SEEN_OF_DAY: Final = 5


async def finish_turn(ctx: TurnContext, work: TurnWork, reason: EndReason, *, assistant: str, goes_on: bool = False) -> TurnEnd:
    """`goes_on`: the turn goes on when the last card that it waits for is decided (S004-15)."""
    placed = await place_lists(
        ctx, work, _limit_words(work, assistant, ctx.actor.locale) if not work.planned else "", order=list_order(work)
    )
    reports = await _record_reports(ctx, work)
    answer = Answer(text=assistant, seen=work.iteration if reason == "answered" else work.iteration - 1)
    notices = tuple(_drop_duplicates([*_build_notices(work, answer, goes_on=goes_on), *placed.notices]))
    proposed = _list_proposed(ctx, work)
    history, lists = _build_history(work, placed, reports, notices, proposed)
    reply = Reply(
        parts=(*placed.parts, *build_day_parts(work.days), *reports, *(work.passages if placed.parts else ())),
        notices=notices,
        confirmations=_list_cards(work),
        actions=tuple(work.offers.values()),
        turn_id=ctx.turn.turn_id,
    )
    return TurnEnd(
        reason=reason,
        reply=reply,
        history=history,
        is_foreign=work.answer_prose,
        acted=work.acted,
        next_planned_actions=(*list_open_steps(work.results, work.titles, answer), *work.rest),
        targets=frozenset(work.targets),
        lists=lists,
        sources={f"{place[0]}.{place[1]}": read.source for place, read in work.lists.items() if read.source is not None},
        goes_on=goes_on,
        provenance=work.build_provenance() if goes_on else None,
    )


def _list_cards(work: TurnWork) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(item.confirmation_id for item in work.pending), *work.undo_cards)))


def _build_notices(work: TurnWork, answer: Answer, *, goes_on: bool) -> list[Notice]:
    recovered = [step_result.notice for step_result in find_recovered(work.results, work.titles, answer)]
    notices = [notice for notice in work.notices if not any(notice is other for other in recovered)]
    if work.planned:
        items = [item for outcome in work.planned for item in _list_planned(outcome)]
        notices.insert(0, Notice(code="shadow-plan", args={"items": items}))
    waiting = bool(work.undo_cards) or any(item.notice is None for item in work.pending)  # for the others `item.notice` says so already
    # The model wrote its text before it knew that a person would be asked; a plan has one card for all its steps.
    if waiting and answer.text:
        notices.append(Notice(code="waiting-on-card", args={"count": 1}))
    if work.rest:
        code = REST_AFTER_CARD if goes_on else REST_NOT_BEGUN
        notices.append(Notice(code=code, args={"count": len(work.rest), "named": False, "calls": []}))
    return notices


def _limit_words(work: TurnWork, assistant: str, locale: Locale) -> str:
    """Beside numbers that code has counted, the model adds none of its own; beside nothing else, two sentences."""
    if not work.reports:
        return assistant
    counted = [str(describe_report(report.answer)) for report in work.reports]
    has_only_reports = len(work.reports) == len(work.results)
    words = keep_known_numbers(assistant, [work.text, *counted, *work.labels], most=2 if has_only_reports else None)
    is_lone = has_only_reports and says_unable(words) and words == keep_known_numbers(words, [words], most=1)
    return f"{words.rstrip(':')} {say_instead(locale)}" if is_lone else words


async def _record_reports(ctx: TurnContext, work: TurnWork) -> tuple[ReportPart, ...]:
    parts: list[ReportPart] = []
    for report in work.reports:
        report_id = hash_text(f"{ctx.turn.turn_id}/{report.iteration}/{report.step}")[:12]
        answer = report.answer
        changes = [dict(variant.change) for variant in answer.variants]
        question = dict(answer.question)
        if is_file := question.get("show") == FILE:
            del question["show"]
        await ctx.record(ReportShown(report_id=report_id, by=ctx.actor.key, question=question, changes=changes))
        parts.append(ReportPart(report_id=report_id, answer=answer, is_file=is_file))
    return tuple(parts)


def _list_planned(outcome: Outcome) -> Iterator[JsonObject]:
    yield {"method": outcome.method, "preview": dict(outcome.preview)}
    yield from ({"method": preview.get("method") or "", "preview": dict(preview), "follows": True} for preview in outcome.following)


def _build_history(
    work: TurnWork, placed: PlacedLists, reports: Sequence[ReportPart], notices: Sequence[Notice], proposed: ShownList | None
) -> tuple[str, tuple[ShownList, ...]]:
    """Return the answer for later prompts, and lists beside the tables of the reply."""
    days = tuple(list_day_rows(work.days, SEEN_OF_DAY))
    decided = [f"[decided: {'; '.join(work.decided)}]"] if work.decided else []
    if work.planned:
        return NOT_RUN, ()
    shown = [
        *(_format_part(part) for part in placed.parts),
        *(build_marker(one.place) for one in days),
        *(_format_report(part.answer) for part in reports),
    ]
    lines = [*decided, *shown, *([NOT_DONE] if work.pending and placed.parts else [])]
    if (placed.parts or reports or days) and not work.prose:
        return "\n".join(lines), days
    notice_codes = [f"[notices: {', '.join(notice.code for notice in notices)}]"] if notices else []
    marker = [build_marker(PROPOSED)] if proposed is not None else []
    return "\n".join([*lines, *notice_codes, *marker]), (*days, proposed) if proposed is not None else days


def _format_part(part: Text | Table) -> str:
    return part.text if isinstance(part, Text) else build_marker(part.place)


def _format_report(answer: ReportAnswer) -> str:
    """Its rows are shown by code, and asked for again where a later message needs them."""
    total = ", ".join(f"{measure.label} {cell.text}" for measure, cell in zip(answer.measures, answer.total, strict=True))
    return f"[report: {answer.title}; {total}]"


def _list_proposed(ctx: TurnContext, work: TurnWork) -> ShownList | None:
    rows = [row for key in _list_cards(work) if (card := ctx.state.cards.get(key)) for row in _list_parts(card.method, card.preview)]
    return ShownList(place=PROPOSED, total=len(rows), rows=tuple(rows[:MOST_PROPOSED])) if rows else None


def _list_parts(method: str, preview: object) -> Iterator[ShownRow]:
    card = Preview.model_validate(preview or {})
    for part in card.items or (card,):
        if not part.is_read:
            # Of a new record, the title is what the model wrote.
            title = part.title if part.record else ""
            yield ShownRow(part.record, " · ".join(filter(None, (part.method or method, title))))


def _drop_duplicates(notices: Sequence[Notice]) -> list[Notice]:
    distinct: list[Notice] = []
    for notice in notices:
        if notice not in distinct:
            distinct.append(notice)
    return distinct
