"""The registry as a fold: properties that hold whatever happened in whatever order, and its erasure."""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.access.access import Access
from orchestrator.features.people.registry import TRIES, check_link, extract_registry, has_too_many_tries
from orchestrator.reports.erasure import erase
from orchestrator.reports.erasure.erase import ErasureFiles
from state.clock import format_iso
from state.events import fold
from state.events import people as people_fold
from state.events.base import Event
from state.events.people import AccessAsked, InvitationRefused, PersonDismissed, PersonInvited, PersonJoined, PersonReturned, PreferenceSet
from state.model.registry import Registry
from state.sql import open_store
from state.sql.dialect import build_sqlite_url
from tests.chain_kit import Verified, verify_stream
from tests.unit.features.people.people_kit import GLEB, STREAM, an_office, brings, build_preference_row, invitation, presses, writes
from tests.unit.spine_kit import NOW

marks = st.sampled_from(["aaaaaaaa1", "bbbbbbbb2", "cccccccc3"])
people = st.sampled_from(["tg:1", "tg:2", "tg:3"])
ends = format_iso(NOW + timedelta(hours=1))
happened = st.one_of(
    st.builds(PersonInvited, fingerprint=marks, bitrix_user_id=st.just(8), role=st.just("lead"), expires_at=st.just(ends), by=st.just("cli:ops")),
    st.builds(
        PersonJoined, person=people, name=st.sampled_from(["Глеб", "Глеб", ""]), role=st.just("lead"), bitrix_user_id=st.just(8),
        fingerprint=st.one_of(marks, st.just("")), by=st.just("x"),
    ),
    st.builds(PersonDismissed, person=st.one_of(people, st.just("invite:aaaaaaaa")), why=st.sampled_from(["portal", "admin"]), by=st.just("x")),
    st.builds(PersonReturned, person=people),
    st.builds(PreferenceSet, person=people, preference=st.just("locale"), value=st.sampled_from(["en", "ru", ""])),
    st.builds(InvitationRefused, person=people, why=st.just("wrong")),
    st.builds(AccessAsked, person=people, name=st.just("Gleb")),
)  # fmt: skip


def _folded(events: list[Event]) -> Registry:
    steps = [
        (type(event).__name__, event.model_dump(mode="json"), format_iso(NOW + timedelta(seconds=n))) for n, event in enumerate(events)
    ]
    return extract_registry(fold.fold_events(fold.create_state(), steps))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(happened, max_size=14))
def test_whatever_happened_the_registry_holds_together(events: list[Event]) -> None:
    """A used link is never open again; who was dismissed, removed, erased or never joined has no access; nobody has two standings."""
    registry = _folded(events)
    access = Access([])
    access.apply_registry(registry, len(events))
    used = {event.fingerprint for event in events if isinstance(event, PersonJoined)} - {""}
    assert used <= set(registry.used)
    assert not set(registry.used) & set(registry.invited)
    assert all(check_link(registry, mark, NOW) == "used" for mark in used)
    for person in ("tg:1", "tg:2", "tg:3"):
        mine = [event for event in events if getattr(event, "person", "") == person]
        joins = [n for n, event in enumerate(mine) if isinstance(event, PersonJoined)]
        after = mine[joins[-1] + 1 :] if joins else []
        gone = [
            event.why if isinstance(event, PersonDismissed) else "back"
            for event in after
            if isinstance(event, PersonDismissed | PersonReturned)
        ]
        last_word = next((why for why in reversed(gone) if why != "admin"), "back")
        present = bool(joins) and bool(mine[joins[-1]].name) and "admin" not in gone and last_word != "portal"  # type: ignore[attr-defined]
        assert (access.find_actor_by_key(person) is not None) == present


def test_the_registry_does_not_grow_with_what_strangers_do() -> None:
    """Requests and wrong links of ever new people push out the eldest."""
    crowd: list[Event] = [AccessAsked(person=f"tg:{n}", name="x") for n in range(people_fold.KEEP_ASKED + 50)]
    crowd += [InvitationRefused(person=f"tg:{n % 700}", why="wrong") for n in range(5000)]
    registry = _folded(crowd)
    assert len(registry.asked) == len(registry.tries) == people_fold.KEEP_ASKED
    assert {len(tries) for tries in registry.tries.values()} <= set(range(1, TRIES + 1))
    assert has_too_many_tries(_folded([InvitationRefused(person="tg:1", why="used")] * TRIES), "tg:1", NOW)


@pytest.mark.parametrize("let_in", ["by link", "by card"])
async def test_an_erasure_covers_the_registry(tmp_path: Path, let_in: str) -> None:
    """Name, username, wishes and zone of somebody who joined are gone from every table and file; the chain holds; they are a stranger."""
    folder = tmp_path / "state"
    url = build_sqlite_url(folder / "sdelka.db")
    called = "Глеб Герасимович" if let_in == "by link" else "Глеб Седов"
    secrets = (called, "gleb_sedov_77", "Asia/Vladivostok", "Asia/Kamchatka")
    async with an_office(tmp_path, store=open_store(url)) as office:
        token, row = invitation(office, name="Глеб Герасимович")
        rows = writes("пустите меня", GLEB, username="gleb_sedov_77")
        await office.work(row, *rows)
        if let_in == "by link":
            await office.work(brings(token, GLEB, username="gleb_sedov_77"))
        else:
            await office.work(presses("p1:admit:666:m:8", office.access.find_actor(1001)))  # type: ignore[arg-type]
        gleb = office.access.find_actor(GLEB)
        assert gleb is not None
        await office.work(build_preference_row("time_zone", "Asia/Kamchatka", "s:1", gleb, NOW))
        assert office.access.find_actor(GLEB) != gleb
    before = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert [text for text in (called, "gleb_sedov_77", "Asia/Kamchatka") if text.encode() not in before] == []
    place = ErasureFiles(logs=tmp_path / "logs", files=tuple(folder.iterdir()))
    store = open_store(url)
    try:
        found = erase.inspect_person(store, "tg:666", place)
        assert called in found.names
        assert found.obstacles == ()
        assert found.in_clear == 0
        done = erase.erase_person(store, found, place, now=NOW, by="cli:ops")
        assert done.remains == ()
        assert done.unproven_reasons == ()
        assert isinstance(verify_stream(store, STREAM), Verified)
    finally:
        store.close()
    left = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert [text for text in secrets if text.encode() in left] == []
    async with an_office(tmp_path / "again", store=open_store(url)) as office:
        assert office.access.find_actor(GLEB) is None
