"""What a turn knows at its beginning: the numbers the person wrote and the records they had before; nothing else is trusted."""

from typing import cast

import pytest

from engines.crm_agent.core.lists import hide_markers, place_lists
from engines.crm_agent.core.turn_work import ReadList, start_work
from orchestrator.domain.outputs import Table, Text
from orchestrator.engines.base import TurnContext, TurnInput
from orchestrator.language.word_runs import repeats
from state.events.fold import create_state
from state.model.session_state import HistoryLine
from tests.unit.engines.crm_agent.engine_kit import Fake, done


@pytest.mark.parametrize(("text", "numbers"), [
    ("сделка 481", {481}), ("№481 и 482.", {481, 482}), ("до 150 000", {150, 0}), ("1,5 млн и 2.5", set()), ("0481", {481}),
    ("нет чисел", set()), ("12345678901", set()),
])  # fmt: skip
def test_numbers_of_the_person_name_records(text: str, numbers: set[int]) -> None:
    """Of any kind; parts of sums with a comma are none."""
    found = start_work(TurnInput(turn_id="t", text=text, quoted=""), create_state(), "tg:7").targets
    assert {int(target.partition(":")[2]) for target in found} == numbers
    assert all(f"deal:{number}" in found and f"task:{number}" in found for number in numbers)


def test_the_current_record_counts_when_the_person_had_it() -> None:
    """A record that only a read of the model made current does not."""
    state = create_state()
    state.agent.objects |= {"current_deal_id": 5, "current_task_id": 6}
    state.trusted = ["deal:5", "contact:9"]
    assert start_work(TurnInput(turn_id="t", text="дальше", quoted=""), state, "tg:7").targets == {"deal:5"}


def test_quoted_text_taints_from_the_start() -> None:
    """And its numbers name nothing."""
    work = start_work(TurnInput(turn_id="t", text="что это?", quoted="сделка 481"), create_state(), "tg:7")
    assert (work.prose, work.targets) == (True, set())
    provenance = work.build_provenance()
    assert (provenance.prose, provenance.person_text) == (True, "что это?")


def test_what_the_bot_told_is_borrowed_unless_a_person_said_it() -> None:
    """A title that an earlier answer named is not the model's own word; what the person said in an earlier turn is theirs."""
    state = create_state()
    said = [("user", "запиши в 481: клиент ждёт договор", False), ("assistant", "481 — Северный ветер: поставка кабеля", False)]
    said += [("user", "клиент просит скидку", True), ("assistant", "Записал: клиент ждёт договор. И клиент просит скидку", False)]
    state.history += [HistoryLine.create(role=role, text=text, quoted=quoted, turn_id="a") for role, text, quoted in said]
    state.history.append(HistoryLine.create(role="assistant", text="Ставлю задачу на завтра", turn_id="t"))
    runs = start_work(TurnInput(turn_id="t", text="x", quoted=""), state, "tg:7").runs
    borrowed = ["звонил, Северный ветер: поставка кабеля", "клиент просит скидку"]
    own = ["клиент ждёт договор", "Ставлю задачу на завтра", "звонил"]
    assert [repeats(text, "x", runs) for text in (*borrowed, *own)] == [True, True, False, False, False]


def test_only_the_last_labels_are_told() -> None:
    """A long turn does not grow without bound."""
    work = start_work(TurnInput(turn_id="t", text="x", quoted=""), create_state(), "tg:7")
    work.labels.extend(str(number) for number in range(500))
    assert work.build_provenance().external == tuple(str(number) for number in range(300, 500))


@pytest.mark.parametrize(("text", "kinds"), [
    ("до [[list 1]] после", ["text", "table", "text"]), ("[[ LIST 1 ]]", ["table"]), ("[[list 2]]", []),
    ("[[list x]] [[list]]", ["text"]), ("", []), ("[[list 1]][[list 1]]", ["table", "table"]),
    ("[[list 1.1]] [[list 2.1]]", ["table"]), ("[[ list 1 . 1 : TITLE, OPPORTUNITY ]]", ["table"]),
])  # fmt: skip
async def test_markers_of_lists(text: str, kinds: list[str]) -> None:
    """In order; one without a table disappears, anything else is text."""
    work = start_work(TurnInput(turn_id="t", text="x", quoted=""), create_state(), "tg:7")
    work.lists[1, 1] = ReadList(outcome=done(), table=Table())
    parts = (await place_lists(cast("TurnContext", Fake()), work, text, order=(1,))).parts
    assert [part.kind for part in parts] == kinds
    assert all(not isinstance(part, Text) or part.text.strip() for part in parts)


@pytest.mark.parametrize(("text", "shown"), [
    ("до\n[[list 1: TITLE]]\nпосле", "до\n\nпосле"), ("до [[list 1: TI", "до"), ("до [", "до"), ("до [[list 1]", "до"),
    ("[скобки] и [ссылка](x)", "[скобки] и [ссылка](x)"),
])  # fmt: skip
def test_a_draft_has_no_markers(text: str, shown: str) -> None:
    """Neither whole ones nor one that has only begun."""
    assert hide_markers(text) == shown
