"""A workflow on a record survives the death of its program at any commit: one block, one choice, one write (S003-54, S003-58)."""

from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.domain.taint import Value
from orchestrator.engines.shared.launch import PARAMETERS
from orchestrator.runtime import worker
from orchestrator.sessions import session
from state.journal.record_blocks import RecordPlace, read_blocks
from tests.contract.run_survival_kit import Survival, survive
from tests.unit.engines.flows.acting_flow import ANSWER
from tests.unit.runs.runs_kit import RUN
from tests.unit.spine_portal import Portal

DEAL: Final = RecordPlace("deal", 481)
CHANGE = {"runeType": "operation", "operationType": "ModifyEntity", "entityType": "deal", "entityId": "{{deal}}"}
DOCUMENT: dict[str, Any] = {
    "workflowId": "care",
    "metadata": {"title": "Забота"},
    "record": "deal",
    "terminal": {"rawText": "said"},
    "tuums": [
        {
            "tuumId": "ask",
            "promptRunes": [{"runeType": "prompt", "template": "о сделке {{deal}}"}],
            "aiService": "tool",
            "runes": [
                {**CHANGE, "attributeKey": "TITLE", "modifyOperator": "=", "modifyValue": "Роза"},
                {**CHANGE, "attributeKey": "OPPORTUNITY", "modifyOperator": "+=", "modifyValue": 500},
            ],
            "outputMappings": {"said": "ai_final_output"},
        }
    ],
}
COMMITS: Final = 27
"""How many commits the undisturbed run makes; the first test holds the number against the truth."""
STEPS = ["BlockOpened", "BlockConflicted", "BlockResolved", "BlockFinished"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop are a matter of the real clock: shortened, not mocked away."""
    monkeypatch.setattr(session, "BUFFER_SECONDS", 60.0)  # on a slow machine, too, what is noted leaves with the next commit
    monkeypatch.setattr(worker, "POLL", 0.01)


def rename(portal: Portal, _prompt: str) -> None:
    """Somebody gives the deal another name and another sum."""
    portal.records["deal", 481].update(TITLE="Лютик", OPPORTUNITY="150000.00")


async def play(folder: Path, dies_at: int | None = None, *, after: bool = False) -> Survival:
    """The run, with a person who keeps what stands in the record."""
    args = {PARAMETERS: Value({"deal": "deal:481"}, frozenset({"person"}))}
    return await survive(folder, {"care": DOCUMENT}, "care", "workflow", dies_at=dies_at, after=after, args=args, meanwhile=rename)


def check(ended: Survival) -> None:
    """Everything happened once."""
    assert ended.status == "done"
    assert ended.writes == [("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": "150500"}})]
    (block,) = read_blocks(ended.sql, DEAL)
    assert (block.run, block.status, block.raw_text) == (RUN.removeprefix("run:"), "Idle", f"{ANSWER}о сделке 481")
    assert dict(block.choices) == {"TITLE": "person"}
    assert (block.post_ai, block.post_user) == ({"TITLE": "Роза", "OPPORTUNITY": "1000500"}, {"TITLE": "Лютик", "OPPORTUNITY": "150500"})


@pytest.mark.req("S003-54", "S003-X10")
async def test_an_undisturbed_run_is_what_the_others_are_compared_with(tmp_path: Path) -> None:
    """Nobody dies: one block, one question, one write."""
    ended = await play(tmp_path)
    check(ended)
    assert [one.type for one in ended.sql.read_events(DEAL.stream)] == STEPS
    assert ended.commits == COMMITS


@pytest.mark.req("S003-54", "S003-X10")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("dies_at", range(1, COMMITS + 1))
async def test_a_death_at_any_commit_doubles_no_block_and_no_write(tmp_path: Path, dies_at: int, *, after: bool) -> None:
    """A block is opened once and finished once; only a run that had to be retried asks for the choice once more."""
    ended = await play(tmp_path, dies_at, after=after)
    assert ended.died
    check(ended)
    stored = [one.type for one in ended.sql.read_events(DEAL.stream)]
    retried = ["BlockOpened", "BlockConflicted", "BlockResolved", "BlockFailed", "BlockResumed", *STEPS[1:]]
    assert stored in (STEPS, retried)
