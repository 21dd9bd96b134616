"""The blocks of records, on every kind of database: one at a time, as many as are kept, nothing lost, gone with the person."""

import threading
from datetime import timedelta

import pytest

from engines.workflows.core.blocks import manager
from engines.workflows.core.blocks.manager import Finish, Opened, Opening
from state.journal import record_blocks
from state.journal.record_blocks import MOST_BLOCKS, BlocksBusy, RecordPlace
from state.model.record_blocks import list_parents
from state.sql import SqlStore
from tests.contract.store_kit import NOW, every_store

DEAL = RecordPlace("deal", 481)
ANNA = "tg:1007"
WORDS = "договорились о скидке"


def open_one(store: SqlStore, run: str, *, days: float = 0, over: frozenset[str] = frozenset(), place: RecordPlace = DEAL) -> Opened:
    """A run opens its block after so many days."""
    given = Opening(block=f"deal:481:{run}", run=run, definition="dossier", version=1, by=ANNA, title="Ромашка", input={"TITLE": "Ромашка"})
    at = NOW + timedelta(days=days)
    return record_blocks.change_blocks(
        store, place, lambda known: manager.open_block(known, given, over, record_blocks.find_kept_from(known, at)), ANNA, at
    )


def finish(store: SqlStore, run: str) -> bool:
    """A run ends its block."""
    given = Finish(raw_text=WORDS, origins=("model",), operations=(), post_ai={}, post_user={})
    return record_blocks.change_blocks(store, DEAL, lambda known: manager.finish_block(known, f"deal:481:{run}", given), ANNA, NOW)


@pytest.mark.req("S003-54", "S003-64")
@every_store
class TestBlocks:
    """On each kind of database."""

    def test_a_block_has_the_last_result_as_its_parent(self, store: SqlStore) -> None:
        for run in "ab":
            assert open_one(store, run).refusal == ""
            assert finish(store, run)
        blocks = record_blocks.read_blocks(store, DEAL)
        assert [(one.status, one.parent, one.raw_text, one.input) for one in blocks] == [
            ("Idle", "", WORDS, {"TITLE": "Ромашка"}),
            ("Idle", "deal:481:a", WORDS, {"TITLE": "Ромашка"}),
        ]
        assert list_parents(blocks, "deal:481:b") == ["deal:481:a", "deal:481:b"]
        assert record_blocks.read_blocks(store, RecordPlace("lead", 481)) == ()

    def test_of_two_runs_at_once_one_opens_a_block(self, store: SqlStore) -> None:
        """Both ask at the same moment from threads of their own; whoever finds the stream busy asks again."""
        answers: list[str] = []

        def ask(run: str) -> None:
            while True:
                try:
                    answers.append(open_one(store, run).refusal)
                except BlocksBusy:
                    continue
                return

        threads = [threading.Thread(target=ask, args=(run,)) for run in ("a", "b", "c")]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert sorted(answers) == ["", "busy", "busy"]
        assert len(record_blocks.read_blocks(store, DEAL)) == 1

    @pytest.mark.long
    def test_old_blocks_and_too_many_are_not_read_any_more(self, store: SqlStore) -> None:
        for number in range(MOST_BLOCKS + 5):
            open_one(store, f"r{number}")
            finish(store, f"r{number}")
        blocks = record_blocks.read_blocks(store, DEAL)
        assert (len(blocks), blocks[0].run) == (MOST_BLOCKS, "r5")
        assert len(list_parents(blocks, blocks[-1].id)) == MOST_BLOCKS
        open_one(store, "late", days=400)
        assert [one.run for one in record_blocks.read_blocks(store, DEAL)] == [f"r{MOST_BLOCKS + 4}", "late"]

    def test_an_erased_person_leaves_a_block_without_words(self, store: SqlStore) -> None:
        """The chain of blocks stays whole, nothing of their texts and values can be read, and the next run opens its block."""
        open_one(store, "a")
        finish(store, "a")
        assert WORDS not in repr(store.read_encrypted(DEAL.stream))
        store.open_erasure().erase(ANNA, NOW, digests=[], change=lambda body: body)
        (block,) = record_blocks.read_blocks(store, DEAL)
        assert (block.raw_text, block.title, dict(block.input), block.status) == ("", "", {}, "Idle")
        assert open_one(store, "b") == Opened()
        assert list_parents(record_blocks.read_blocks(store, DEAL), "deal:481:b") == ["deal:481:a", "deal:481:b"]
