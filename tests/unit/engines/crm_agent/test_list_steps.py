"""Steps that read lists: how many rows of them are wanted."""

import pytest

from engines.crm_agent.core.lists import split_limit
from orchestrator.engines.crm_agent.blocks import Step


def _step(limit: object, method: str = "crm.deal.list") -> Step:
    return Step(method=method, params={"filter": {"CLOSED": "N"}, "limit": limit}, comment="")


@pytest.mark.parametrize("limit", [3, "3"])
def test_a_limit_is_code_s_and_never_sent_to_the_portal(limit: object) -> None:
    """The number of rows is taken out of the parameters of a list."""
    step, number = split_limit(_step(limit))
    assert (dict(step.params), number) == ({"filter": {"CLOSED": "N"}}, 3)


@pytest.mark.parametrize("limit", [0, -1, True, "many", "٣", 3.5, 10**9, None])
def test_a_limit_that_is_no_number_stays_where_it_is_refused(limit: object) -> None:
    """Nothing is read in place of what the model asked for."""
    assert split_limit(_step(limit)) == (_step(limit), 0)


def test_only_lists_have_a_limit() -> None:
    """The parameter of another method is that method's own."""
    assert split_limit(_step(3, "crm.deal.update"))[1] == 0
