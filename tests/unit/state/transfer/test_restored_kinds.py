"""Cards of requests, messages, files and documents that came back with a backup: what was done since is not done a second time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.effect import Outcome
from state.sql import open_store
from tests.mongo_kit import LEAVES_SOCKETS, quick_driver
from tests.unit.gate.kinds_kit import CALLS, Kinds, a_product, a_successor
from tests.unit.state.transfer.moving_kit import Homes

__all__ = ["quick_driver"]
pytestmark = LEAVES_SOCKETS
APPEND = {"path": "a.txt", "text": "line\n"}
INCREASE = {"collection": "deals", "query": {"client": "Вера"}, "update": {"$inc": {"sum": 2}}}
INSERT = {"collection": "deals", "document": {"client": "Пётр", "sum": 1}}
ALL: Mapping[str, Mapping[str, Any]] = {**CALLS, "file.append": APPEND, "mongo.update_one": INCREASE, "mongo.insert_one": INSERT}
UNSEEN = ("telegram.send_message", "http.post")
"""What leaves nothing behind that the bot could read."""


def outside(kinds: Kinds) -> tuple[Any, ...]:
    """All that the calls changed outside of the database."""
    files = {one.name: one.read_text() for one in kinds.root.iterdir()}
    return files, len(kinds.messenger.sent), len(kinds.requests), sorted(map(str, kinds.deals.find({})))


async def come_back(homes: Homes, folder: Path, method: str, *, done: bool) -> tuple[Outcome, bool]:
    """The outcome of a card of the backup that is approved in the restored database, and whether that changed anything outside.

    With `done` it was approved after the backup was made, too.
    """
    old, new, file = homes.home("old"), homes.home("new"), folder / "one.backup"
    old.folder.mkdir(parents=True, exist_ok=True)
    async with a_product(old.folder, store=open_store(old.url)) as lost:
        card = await lost.ask(method, ALL[method], requires_confirmation=True)
        await lost.session.flush()
        old.back_up(file)
        if done:
            assert (await lost.approve(card)).status == "succeeded"
        seen = outside(lost)
        new.restore(file)
        async with a_successor(lost, new.folder, open_store(new.url)) as found:
            outcome = await found.approve(found.find_card(card.confirmation_id))
            await found.session.flush()
            changed = outside(found) != seen
    assert new.findings() == []
    return outcome, changed


@pytest.mark.req("G2")
@pytest.mark.parametrize("method", ALL)
async def test_what_was_done_since_is_not_done_again(homes: Homes, tmp_path: Path, method: str) -> None:
    """What can be read counts as done; of the rest the person is told to look."""
    outcome, changed = await come_back(homes, tmp_path, method, done=True)
    assert not changed
    assert outcome.reason is not None
    assert (outcome.status, outcome.reason.code) == ("refused", "came-back-unclear" if method in UNSEEN else "came-back-done")


@pytest.mark.parametrize("method", ALL)
async def test_what_was_not_done_since_is_done_once_where_that_can_be_read(homes: Homes, tmp_path: Path, method: str) -> None:
    outcome, changed = await come_back(homes, tmp_path, method, done=False)
    assert (outcome.status, changed) == (("refused", False) if method in UNSEEN else ("succeeded", True))
