"""Who was dismissed in the portal, or removed by ops, has no access; their cards close; a portal that is down dismisses nobody."""

from dataclasses import dataclass
from datetime import timedelta

from bot.access.access import Person
from orchestrator.domain.actor import Actor
from orchestrator.features.people.registry import STREAM
from orchestrator.reports.conversations import render_event
from orchestrator.reports.reading.journal_reader import Narrator
from state.journal.journal import load_state
from state.model.card import Card
from tests.unit.features.people.people_kit import ANNA, GLEB, OLGA, Office, given, presses
from tests.unit.spine_kit import CHAT, World, effect, press

OPS = {"key": "cli:ops", "name": "ops"}
GROUP = "tg:-100500"


async def _card(world: World, key: str, *, slot: str, actor: Actor) -> Card:
    session = await world.session(key)
    entry = await world.asked(
        session, effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 5_000_000 + len(slot)}}, slot=slot), actor=actor
    )
    await session.close()
    return entry


async def test_a_dismissed_employee_loses_access_and_gets_it_back(office: Office) -> None:
    """People of the file and people with a link; seen at the start and every hour, told to them and to the administrators."""
    await office.joined()
    await office.start()
    gleb = office.access.find_actor(GLEB)
    assert gleb is not None
    await office.work(presses("p1:pref:locale:en:l1", gleb))
    office.said()
    office.portal.dismiss(7)
    office.portal.dismiss(8)
    asked = len(office.portal.requests)
    office.world.clock.advance(timedelta(hours=1))
    await office.work()
    assert len(office.portal.requests) == asked + 1, "one look for all"
    assert (office.access.find_actor(ANNA), office.access.find_actor(GLEB), len(office.access)) == (None, None, 2)
    told = office.said()
    assert {chat for chat, _, _ in told} == {"tg:1001", "tg:1002", CHAT, "tg:666"}
    assert ("tg:1001", "Анна Ковалёва больше не имеет доступа: в Битрикс24 этот сотрудник уволен. Открытые карточки закрыты.", []) in told
    [words] = [words for chat, words, _ in told if chat == CHAT]
    assert (
        words
        == "Ваш доступ закрыт: в Битрикс24 вы больше не числитесь работающим сотрудником. Если это ошибка, обратитесь к администратору."
    )
    [words] = [words for chat, words, _ in told if chat == "tg:666"]
    assert words.startswith("Your access is closed"), "in the language that they chose"
    office.portal.dismiss(7, active=True)
    office.world.clock.advance(timedelta(hours=1))
    await office.work()
    assert office.access.find_actor(ANNA) is not None
    assert office.access.find_actor(GLEB) is None
    assert ("tg:1007", "С возвращением! Доступ снова открыт.", []) in office.said()
    assert office.types() == ["PersonInvited", "PersonJoined", "PreferenceSet", "PersonDismissed", "PersonDismissed", "PersonReturned"]


async def test_a_portal_that_cannot_be_read_dismisses_nobody_and_is_asked_again(office: Office) -> None:
    """Nor does one whose list leaves somebody out; the look comes back by itself, in ten minutes or an hour."""
    office.portal.down = True
    office.portal.dismiss(7)
    await office.start()
    assert office.access.find_actor(ANNA) is not None
    office.portal.down = False
    gone = office.portal.users.pop(1)
    office.world.clock.advance(timedelta(minutes=10))
    await office.work()
    assert office.access.find_actor(ANNA) is None
    assert office.access.find_actor(OLGA) is not None
    office.portal.users = {1: {**gone, "ID": None}}
    office.world.clock.advance(timedelta(hours=1))
    await office.work()
    assert office.access.find_actor(OLGA) is not None
    [timer] = office.world.sql.list_due_timers(office.world.clock.now() + timedelta(days=1))
    assert timer.due_at == office.world.clock.now() + timedelta(minutes=10)


async def test_open_cards_of_who_lost_access_close_wherever_they_wait(office: Office) -> None:
    """In private and in groups; nobody can approve them any more, and nothing is sent; cards of others stay."""
    anna = office.access.find_actor(ANNA)
    olga = office.access.find_actor(OLGA)
    assert anna is not None
    assert olga is not None
    mine = [await _card(office.world, CHAT, slot="t1/1/1", actor=anna), await _card(office.world, GROUP, slot="t2/1/11", actor=anna)]
    await _card(office.world, GROUP, slot="t3/1/111", actor=olga)
    office.world.outbox()
    office.portal.dismiss(7)
    await office.start()
    rows = office.world.outbox()
    cards = [(row.session, row.body["confirmation_id"], row.body["status"]) for row in rows if row.kind == "card"]
    assert cards == [(GROUP, mine[1].confirmation_id, "superseded"), (CHAT, mine[0].confirmation_id, "superseded")]
    [words] = [office.shown(row)[1] for row in rows if row.kind == "people" and row.session == CHAT]
    assert "1 карточка, которая ждала решения, закрыта." in words
    for key, entry in zip((CHAT, GROUP), mine, strict=True):
        await office.world.work(press(entry, actor=olga, key=key))
    assert office.portal.written() == []
    assert len(office.world.sql.list_effects(f"session:{GROUP}", "requested")) == 1


@dataclass
class UnderWay:
    """A turn, or a run that is played, of somebody."""

    actor: Actor
    stops: int = 0

    def stop(self) -> None:
        self.stops += 1


async def test_the_turns_of_who_lost_access_are_stopped(office: Office) -> None:
    """In private and in groups: the model that is being asked could propose a write that asks nobody. A run ends by itself."""
    anna, olga = office.access.find_actor(ANNA), office.access.find_actor(OLGA)
    assert anna is not None
    assert olga is not None
    own, group, theirs, run = UnderWay(anna), UnderWay(anna), UnderWay(olga), UnderWay(anna)
    office.world.tools.running.update({CHAT: own, GROUP: group, "tg:1001": theirs, "run:1": run})
    office.portal.dismiss(7)
    await office.start()
    assert [one.stops for one in (own, group, theirs, run)] == [1, 1, 0, 0]


async def test_ops_remove_who_joined_and_nobody_of_the_file(office: Office) -> None:
    await office.joined()
    await office.work(
        given("person_removed", {"person": "tg:666"}, actor=OPS),
        given("person_removed", {"person": "tg:1007"}, actor=OPS),
        given("person_removed", {"person": "tg:5"}, actor=OPS),
    )
    assert office.access.find_actor(GLEB) is None
    assert office.access.find_actor(ANNA) is not None
    assert ("tg:666", "Ваш доступ закрыт администратором.", []) in office.said()
    await office.joined()
    assert office.access.find_actor(GLEB) is not None


async def test_who_left_the_portals_list_in_the_file_comes_back(office: Office) -> None:
    """The file wins: once it names no employee for somebody, the portal says nothing about them."""
    office.portal.dismiss(7)
    await office.start()
    assert office.access.find_actor(ANNA) is None
    person = office.access._file_people[ANNA]
    office.access._file_people[ANNA] = person.model_copy(update={"bitrix_user_id": None})
    await office.start()
    assert office.access.find_actor(ANNA) is not None


async def test_two_starts_dismiss_once(office: Office) -> None:
    office.portal.dismiss(7)
    await office.start()
    await office.start()
    assert office.types() == ["PersonDismissed"]


async def test_ops_read_the_registry_in_sentences(office: Office) -> None:
    """Names beside keys, who did it and why; of an erased person's event the key alone."""
    await office.joined()
    office.portal.dismiss(8)
    await office.start()
    voice = Narrator(lambda code, args: code)
    events = office.world.sql.read_events(STREAM)
    lines = [render_event(event, voice).words for event in events]
    assert lines[0].startswith("cli:ops made a link (invite:")
    assert "Глеб Седов (tg:666) joined as manager, employee 8, by link invite:" in lines[1]
    assert lines[2] == "Глеб Седов (tg:666) lost access: the portal lists them as dismissed"
    blank = events[1]._replace(erased=True, data={**events[1].data, "name": "", "time_zone": ""})
    assert "tg:666) joined as manager" in render_event(blank, Narrator(lambda code, args: code)).words


async def test_removing_somebody_who_joined_and_stands_in_the_file_gives_no_access_back(office: Office) -> None:
    """Ops took the registry's entry away, and with it the dismissal: the line of the file counted again."""
    await office.joined(GLEB)
    office.access._file_people[GLEB] = Person(telegram_id=GLEB, name="Глеб", role="admin", bitrix_user_id=8)
    await office.start()
    office.portal.dismiss(8)
    office.world.clock.advance(timedelta(hours=1))
    await office.work()
    assert office.access.find_actor(GLEB) is None
    await office.work(given("person_removed", {"person": f"tg:{GLEB}"}, actor=OPS))
    assert office.access.find_actor(GLEB) is None


async def test_a_person_who_is_no_administrator_removes_and_invites_nobody(office: Office) -> None:
    """An order that was stored before its author was demoted is dropped, as is one of a stranger."""
    await office.joined()
    for key in ("tg:1007", "tg:4242"):
        by = {"key": key, "name": "x"}
        invitation = {"fingerprint": "f" * 64, "bitrix_user_id": 8, "role": "admin", "expires_at": "2027-01-01T00:00:00.000000Z"}
        await office.work(given("person_removed", {"person": f"tg:{GLEB}"}, actor=by), given("invite", invitation, actor=by))
    assert office.access.find_actor(GLEB) is not None
    assert "f" * 64 not in (await office.world.store.read(load_state, STREAM))[0].access.invited  # type: ignore[union-attr]
    await office.work(given("person_removed", {"person": f"tg:{GLEB}"}, actor={"key": "tg:1001", "name": "Ольга"}))
    assert office.access.find_actor(GLEB) is None
