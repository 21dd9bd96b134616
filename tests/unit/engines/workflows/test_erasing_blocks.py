"""Erasing a person whose workflows worked on records: their texts and pictures of the records are gone, the chains stay whole."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.domain.taint import Value
from orchestrator.engines.shared.launch import PARAMETERS
from orchestrator.reports.consistency import EffectChecker
from orchestrator.runtime import worker
from state.journal.record_blocks import RecordPlace, read_blocks
from state.sql import open_store
from state.verify.journal import verify_journal
from tests.unit.engines.workflows.played_kit import a_workflow_world
from tests.unit.engines.workflows.workflow_kit import parameter, put, tuum, workflow
from tests.unit.reports.erasing_kit import Home, everything, opened, run
from tests.unit.reports.erasing_kit import a_home as a_home  # noqa: PLC0414 - the fixture
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import RUN
from tests.unit.spine_kit import ANNA, VERA

SECRET, THEIRS = "покупатель Синицын живёт на Лесной 7", "Воробьёв любит звонки по утрам"
NOTE: Mapping[str, Any] = workflow(
    tuum("say", put("said", "{{text}}"), outputMappings={"said": "said"}),
    record="deal",
    terminal={"rawText": "said"},
    triggerParameters=[parameter("text")],
)
DEAL = RecordPlace("deal", 481)


@pytest.mark.req("S003-54", "S003-72")
@pytest.mark.parametrize("home", ["file", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
async def test_an_erased_person_leaves_no_words_in_blocks(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the blocks nor the runs hold a text of the person in clear or under a key that is left; those of others do."""
    monkeypatch.setattr(worker, "POLL", 0.02)
    async with a_workflow_world(home.folder, NOTE, world_options={"store": open_store(home.url)}) as world:
        for number, (actor, text) in enumerate([(ANNA, SECRET), (VERA, THEIRS)]):
            given = Value({"deal": "481", "text": text}, frozenset({"person"}))
            order = runs_kit.start(
                "dossier", engine="workflow", actor=actor, home=actor.key, key=f"{RUN[:-1]}{number}", **{PARAMETERS: given}
            )
            await world.work(order)
        world.outbox()
    with opened(home) as store:
        assert [one.raw_text for one in read_blocks(store, DEAL)] == [SECRET, THEIRS]
    _, result = run(home, ANNA.key)
    assert not result.remains
    for form in (SECRET, SECRET.encode("unicode_escape").decode()):
        assert form.encode() not in everything(home)
    with opened(home) as store:
        first, second = read_blocks(store, DEAL)
        assert (first.raw_text, first.title, dict(first.input)) == ("", "", {})
        assert (second.raw_text, second.parent) == (THEIRS, first.id)
    assert not verify_journal(home.url, judge=EffectChecker, anchors={}, progress=lambda _: None).findings
