"""What every engine of runs must survive: its program dies at any commit, and another goes on as if nothing had been."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from orchestrator.runtime import worker
from orchestrator.sessions import session
from tests.contract.run_survival_kit import Survival, survive
from tests.unit.engines.flows.acting_flow import QUESTIONS, build_acting_flow
from tests.unit.engines.workflows import acting_workflow
from tests.unit.engines.workflows.acting_workflow import build_acting_workflow
from tests.unit.runs.runs_kit import steps

WRITE = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}
DOCUMENTS: dict[str, Any] = {
    "plan": steps({"say": "Начинаю"}, {"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}, {"model": "тариф {s1}"}, WRITE,
     {"sleep": 60}, {"child": "inner"}, {"say": "Конец: {s2}"}),
    "inner": steps({"model": "внутри"}, {"say": "Внутри"}),
    "talk": {
        "name": "Разговор",
        "steps": [
            {"type": "message", "params": {"text": "Начинаю"}},
            {
                "id": "ask",
                "type": "input",
                "params": {"prompt": "Какой тариф?", "buttons": ["Базовый", "Полный"], "only_buttons": True, "input_variable": "plan"},
            },
            {"type": "llm_request", "params": {"prompt": "тариф {plan}"}},
            {"type": "bitrix_call", "params": {"method": WRITE["write"], "params": WRITE["params"]}},
            {"type": "wait", "params": {"seconds": 60}},
            {"type": "execute_sub_scenario", "params": {"sub_scenario_id": "sub", "output_mapping": ["said"]}},
            {"type": "branch", "condition": "said == 'ответ на внутри'", "branches": {"if": "end", "else": "lost"}},
            {"id": "lost", "type": "end"},
            {"id": "end", "type": "message", "params": {"text": "Конец: {llm_result}"}},
        ],
    },
    "sub": {
        "name": "Вложенный",
        "steps": [
            {"type": "llm_request", "params": {"prompt": "внутри", "output_var": "said"}},
            {"type": "message", "params": {"text": "Внутри"}},
        ],
    },
    "begin": steps({"child": "act", "engine": "flow"}, {"say": "После потока"}),
    "act": build_acting_flow(),
    "weave": build_acting_workflow(200000, 40000),
    "fan": {"things": ["а", "б", "в", "г"], "prompt": "{thing}?", "summary": "{answers}"},
}  # fmt: skip
ENGINES = {"plan": "steps", "fan": "fan", "talk": "scenario", "begin": "steps", "weave": "workflow"}
SAID = {
    "plan": ["Начинаю", "Какой тариф?", "Внутри", "Конец: ответ на тариф Базовый", "Готово."],
    "talk": ["Начинаю", "Какой тариф?", "Внутри", "Конец: ответ на тариф Базовый"],
    "begin": ["После потока", "Готово."],
    "weave": [acting_workflow.SAID],
    "fan": ["ответ на ответ на а?\nответ на б?\nответ на в?\nответ на г?"],
}
WRITTEN = {"fan": [], "begin": ["crm.deal.update"] * 2, "weave": ["crm.deal.update"] * 2}
"""What is written at the portal, if it is not one change of a deal."""
ADDED = ["1200001", "90000"]
"""The sums that the workflow makes with `+=`: twice of one deal, once of another."""
COMMITS = {"plan": 25, "fan": 5, "talk": 25, "begin": 23, "weave": 14}
"""The fewest commits that the whole undisturbed run makes; the first test holds the numbers against the truth."""
MORE = {"begin": 1, "weave": 12}
"""How many commits more a busy machine makes: what a flow does at once, and scripts in processes of their own, may end together or apart."""
POINTS = [(definition, number) for definition, commits in COMMITS.items() for number in range(1, commits + 1)]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop are a matter of the real clock: shortened, not mocked away."""
    monkeypatch.setattr(session, "BUFFER_SECONDS", 60.0)  # on a slow machine, too, what is noted leaves with the next commit
    monkeypatch.setattr(worker, "POLL", 0.01)


@pytest.mark.parametrize("definition", sorted(ENGINES))
async def test_an_undisturbed_run_is_what_the_others_are_compared_with(tmp_path: Path, definition: str) -> None:
    """Nobody dies: everything happens once."""
    ended = await survive(tmp_path, DOCUMENTS, definition, ENGINES[definition])
    _check(ended, definition)
    assert max(ended.asked.values()) == 1
    assert definition != "begin" or sorted(ended.asked) == sorted(QUESTIONS)
    assert 0 <= ended.commits - COMMITS[definition] <= MORE.get(definition, 0)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("definition", "dies_at"), POINTS)
async def test_a_death_at_any_commit_doubles_nothing_and_loses_nothing(
    tmp_path: Path, definition: str, dies_at: int, *, after: bool
) -> None:
    """One write, each message once, no answered question to the model asked again, and the run ends."""
    ended = await survive(tmp_path, DOCUMENTS, definition, ENGINES[definition], dies_at=dies_at, after=after)
    assert ended.died
    _check(ended, definition)
    assert ended.asked_again == {}


def _check(ended: Survival, definition: str) -> None:
    assert ended.status == "done"
    assert sorted(ended.said) == sorted(SAID[definition])
    assert [method for method, _ in ended.writes] == WRITTEN.get(definition, ["crm.deal.update"])
    if definition == "weave":
        assert [params["fields"]["OPPORTUNITY"] for _, params in ended.writes] == ADDED
    nodes = [(one.stream, one.data["node"], one.data["attempt"]) for one in ended.events if one.type == "NodeDone"]
    assert len(nodes) == len(set(nodes)), "a node was stored twice"
    waits = Counter((one.stream, one.data["node"]) for one in ended.events if one.type == "RunWaits")
    wakes = Counter((one.stream, one.data["node"]) for one in ended.events if one.type == "RunWoken" and one.data["node"])
    assert waits == wakes, "a node was not woken once for each wait"
