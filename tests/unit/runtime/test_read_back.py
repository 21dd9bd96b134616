"""What lies near the end of a conversation is found by reading little of it, however long it is."""

import pytest

from orchestrator.sessions.session import Session
from state.events.conversation import TurnResumed
from state.journal.async_store import SHORTEST_PAGE
from tests.unit.spine_kit import CHAT, World, message, press, raise_sum, reply


async def fill(session: Session, count: int) -> None:
    """A conversation of so many events."""
    await session.commit(*(TurnResumed(turn_id=f"t{number}") for number in range(count)), actor="tg:7")


@pytest.mark.parametrize("count", [0, 1, 16, 17, 700])
async def test_all_events_come_once_page_by_page_from_the_end(world: World, session: Session, count: int) -> None:
    """Joined from the last page to the first they are the stream, and the first page is small."""
    await fill(session, count)
    pages = [page async for page in world.store.iterate_back(session.stream, session.seq)]
    await session.close()
    assert [one.seq for page in reversed(pages) for one in page] == list(range(1, count + 1))
    assert all(len(page) <= SHORTEST_PAGE * 2**number for number, page in enumerate(pages))


async def test_a_turn_that_goes_on_in_a_long_conversation_reads_little_of_it(world: World, session: Session) -> None:
    """Its request and what it did are read again after its card, and not the hundreds of events before it."""
    await fill(session, 400)
    await session.close()
    read = 0
    find = world.sql.read_events

    def read_events(stream: str, after: int = 0, limit: int = 1000) -> object:
        nonlocal read
        found = find(stream, after, limit)
        read += len(found) if stream == f"session:{CHAT}" and after else 0  # not the loading of the session
        return found

    world.model.will(reply(raise_sum(), text="Меняю."))
    world.model.will_go_on(reply(text=""))
    await world.work(message("подними сумму сделки 481"))
    world.sql.read_events = read_events  # type: ignore[method-assign, assignment]
    await world.work(press({**world.events("ConfirmationRequested")[-1].data, "status": "requested"}))
    del world.sql.read_events
    assert world.portal.written()
    assert world.types()[-1] == "TurnFinished"
    assert 0 < read <= 64
