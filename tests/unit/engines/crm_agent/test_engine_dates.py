"""Days in a plan are resolved by their places before a step runs; what cannot be read goes back to the model with the form."""

import json
from typing import Any

import pytest

from orchestrator.directory.answers import Ambiguous, AskedDate, DatedParams, Option, Resolved, Unresolved
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import ChosenOption, TurnInput
from state.model.session_state import Question
from tests.unit.engines.crm_agent.engine_kit import Fake, codes, done, reply, run, step

WORDS = "@date:прошлый месяц"
UNREAD = Unresolved(
    notice=Notice(code="date-in-filter", args={"words": "недавно"}), detail="write a day or a period under the bare field name"
)


def given(**conditions: Any) -> dict[str, Any]:
    return step("crm.deal.list", filter=conditions)


async def test_the_gate_gets_the_bounds_and_the_model_reads_what_they_are() -> None:
    """Names are resolved before days, since a closed stage says that a day may be past."""
    ctx = Fake(reply(given(DATE_CREATE=WORDS, STAGE_ID="@stage:Договор")), reply())
    ctx.resolve = lambda **_: Resolved(value="C1:WON")
    asked: list[dict[str, Any]] = []

    def dates(**args: Any) -> DatedParams:
        asked.append(args)
        return DatedParams(params={"filter": {">=DATE_CREATE": "2026-10-01"}}, bounds=("DATE_CREATE 2026-10-01..2026-10-31",))

    ctx.dates = dates
    await run(ctx)
    assert asked[0]["params"] == {"filter": {"DATE_CREATE": WORDS, "STAGE_ID": "C1:WON"}}
    assert ctx.effects[0].params == {"filter": {">=DATE_CREATE": "2026-10-01"}}
    assert '"dates": ["DATE_CREATE 2026-10-01..2026-10-31"]' in ctx.prompt()[-1]["content"]


async def test_a_day_that_may_be_two_becomes_a_question_and_the_choice_goes_on() -> None:
    """The chosen value is handed back with the reference, in whose place it stands."""
    several = Ambiguous(ask=Notice(code="which-date", args={"words": "в четверг"}), options=(Option(value="2026-11-26", label="сегодня"),))
    ctx = Fake(reply(given(DATE_CREATE="@date:в четверг")))
    ctx.dates = lambda **_: AskedDate(reference="@date:в четверг", several=several)
    end = await run(ctx)
    assert (end.reason, codes(end)) == ("asked", ["which-date"])
    assert not ctx.effects

    question = Question.create(
        question_id="q1",
        reference="@date:в четверг",
        answer=reply(given(DATE_CREATE="@date:в четверг")),
        resolved={},
        iteration=1,
        turn_id="t1",
    )
    chosen: list[Any] = []

    def dates(**args: Any) -> DatedParams:
        chosen.append(args["chosen"])
        return DatedParams(params=args["params"])

    again = Fake(
        reply(), turn=TurnInput(turn_id="t2", text="", choice=ChosenOption(question=question, value="2026-11-26", label="сегодня"))
    )
    again.dates = dates
    await run(again)
    assert chosen[0] == {"@date:в четверг": "2026-11-26"}


@pytest.mark.parametrize("repaired", [True, False])
async def test_words_that_the_code_cannot_read_go_back_with_the_form(*, repaired: bool) -> None:
    """The person reads of it only if the model gives up."""
    first, second = given(DATE_CREATE="@date:недавно"), given(DATE_CREATE="@date:за неделю")
    ctx = Fake(reply(first), *([reply(second)] if repaired else []), reply(text="Вот."), results=[done()])
    ctx.dates = lambda **args: UNREAD if "недавно" in json.dumps(args["params"], ensure_ascii=False) else DatedParams(params=args["params"])
    end = await run(ctx)
    told = next(message["content"] for message in ctx.prompt() if message["content"].startswith("OBSERVATION 1"))
    assert "under the bare field name" in told
    assert codes(end) == ([] if repaired else ["date-in-filter"])
    assert len(ctx.effects) == int(repaired)
