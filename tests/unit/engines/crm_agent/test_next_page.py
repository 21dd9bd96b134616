"""«А остальное?»: the same call for the same person, and only the rows that were not shown; anything else is said and not guessed."""

from typing import Any

import pytest

from engines.crm_agent.core.lists import NEXT, NextPage, find_next_page
from engines.crm_agent.core.turn_work import Page, TurnWork
from orchestrator.directory.answers import Unresolved
from orchestrator.domain.effect import Outcome
from orchestrator.engines.crm_agent.blocks import Step
from state.model.session_state import SessionState
from tests.unit.gate.gate_kit import ANNA
from tests.unit.state.test_list_pages import a_list


class Context:
    """The part of a turn that is asked."""

    def __init__(self, state: SessionState) -> None:
        self.state, self.actor = state, ANNA


def find(shown: Any, work: TurnWork | None = None) -> NextPage | Unresolved:
    """What list.next means after that list."""
    state = SessionState(last_shown=shown)
    return find_next_page(Context(state), work or TurnWork(text="а остальное?"), Step(method=NEXT, params={}, comment="x"))  # type: ignore[arg-type]


def test_the_same_call_goes_on_below_the_last_row() -> None:
    """The params are those with which the list was read, whatever the model writes."""
    found = find(a_list(1, 2, by=ANNA.key))
    assert isinstance(found, NextPage)
    assert (found.step.method, found.step.params) == ("crm.deal.list", {"filter": {"CLOSED": "N"}})
    assert found.page == Page(first=3, hidden=0, seen=("deal:1", "deal:2"))


@pytest.mark.parametrize(("shown", "code"), [
    (None, "no-next-page"),
    (a_list(1, 2, by="tg:somebody"), "no-next-page"),
    (a_list(1, 2, by=ANNA.key, method=""), "no-next-page"),
    (a_list(1, 2, by=ANNA.key, total=2), "list-is-whole"),
])  # fmt: skip
def test_where_nothing_goes_on_it_is_said(shown: Any, code: str) -> None:
    """No list, a colleague's list in the same group, one that no call read, and one that was shown whole."""
    found = find(shown)
    assert isinstance(found, Unresolved)
    assert found.notice.code == code


def test_a_list_of_this_turn_is_no_earlier_one() -> None:
    """The model has read another list meanwhile: going on with the one before it would be the wrong list."""
    work = TurnWork(text="x")
    work.lists[1, 1] = None  # type: ignore[assignment]
    assert isinstance(find(a_list(1, 2, by=ANNA.key), work), Unresolved)


def test_rows_that_moved_meanwhile_are_neither_missed_nor_shown_twice() -> None:
    """A new deal at the top and one that rose: what the person has seen is told by record and not by place."""
    rows = [{"ID": "9"}, {"ID": "2"}, {"ID": "1"}, {"ID": "3"}]
    outcome = Outcome(status="succeeded", effect_id="e", method="crm.deal.list", result=rows, total=4)
    cut = Page(first=3, seen=("deal:1", "deal:2")).cut(outcome)
    assert (cut.result, cut.total) == ([{"ID": "9"}, {"ID": "3"}], 4)
    assert Page(first=3, hidden=1, seen=()).cut(replace_total(outcome)).total == len(rows)


def replace_total(outcome: Outcome) -> Outcome:
    return outcome.model_copy(update={"total": None})
