"""What the reports of the journal say of runs, on the corpus of runs that wait in every way."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bitrix.catalogue.catalogue import load_catalogue
from orchestrator.gate.call.policy import SHIPPED
from orchestrator.reports.log_rebuild.rebuild import rebuild_records
from orchestrator.reports.reading.journal_reader import Narrator
from orchestrator.reports.reading.sentences import describe_event
from orchestrator.reports.why.call_search import find_by_record
from orchestrator.reports.why.call_story import build_story
from state.events.runs import RUN_TYPES, NodeFailed, RunForgotten
from state.sql import SqlStore, build_sqlite_url, open_store
from tests.corpus.runs_corpus_kit import LARGE, RUNS, copy_corpus

VOICE = Narrator(lambda code, _: code)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    made = open_store(build_sqlite_url(copy_corpus(tmp_path) / "sdelka.db"))
    yield made
    made.close()


@pytest.mark.req("G1")
def test_every_event_of_every_run_has_a_sentence(store: SqlStore) -> None:
    """Nothing is shown as the bare name of its type."""
    seen = set()
    for stream in store.list_streams():
        for event in store.read_events(stream):
            said = describe_event(event, VOICE)
            assert said != event.type, event
            seen.add(event.type)
    assert {"RunStarted", "RunWaits", "NodeDone", "NodeFailed", "RunFinished", "InputAwaited"} <= seen
    assert set(RUN_TYPES) - seen == {"RunWoken", RunForgotten.__name__}


def test_the_story_of_a_call_names_the_run_and_the_node_that_proposed_it(store: SqlStore) -> None:
    """A call of a run has no message of a person to quote, so its run is named instead."""
    catalogue = load_catalogue(SHIPPED.parent / "catalogue")
    (trail,) = find_by_record(store, "deal:481", catalogue).trails
    story = build_story(trail, store, voice=VOICE, catalogue=catalogue)
    assert (story.session, story.asked.run if story.asked else "") == (RUNS["effect"], "effect version 1 (steps), node s0")


def test_a_failed_node_says_why(store: SqlStore) -> None:
    (failed,) = [event for event in store.read_events(RUNS["failed"]) if event.type == NodeFailed.__name__]
    assert describe_event(failed, VOICE) == "node s1 failed (attempt 1): model-unavailable"


def test_a_large_output_is_in_the_rebuilt_log(store: SqlStore) -> None:
    """The blob of a run begins with the run's key, which is no part of the value."""
    (record,) = [one for _, one in rebuild_records(store, RUNS["input"], {}) if one.get("node") == "s0"]
    assert LARGE.strip()[:40] in str(record)
