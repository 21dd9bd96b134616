"""Who is named for a change: the portal's last hand only where it proves something, else nobody, and then it is nobody's own."""

from typing import Any

import pytest

from tests.unit.features.portal_events.events_kit import Watch
from tests.unit.spine_kit import VERA, effect, watcher_of
from tests.unit.spine_portal import says

ANNAS, BORISS = 7, 8
BOTH: dict[str, Any] = {"OPPORTUNITY": "5", "TITLE": "Лютик"}


@pytest.mark.parametrize(
    ("fields", "events", "by", "names"),
    [
        (BOTH, 2, ANNAS, ""),
        (BOTH, 3, BORISS, ""),
        (BOTH, 1, BORISS, "Борис Седов"),
        (BOTH, 1, ANNAS, None),
        ({"OPPORTUNITY": "5"}, 2, BORISS, "Борис Седов"),
        ({"OPPORTUNITY": "5"}, 2, ANNAS, None),
        ({"STAGE_ID": "WON", "CLOSED": "Y"}, 2, BORISS, "Борис Седов"),
    ],
)
async def test_the_last_hand_is_named_for_one_field_or_one_event(
    watch: Watch, fields: dict[str, Any], events: int, by: int, names: str | None
) -> None:
    """Several fields after several events: anybody may have been at them, and the owner is told even when theirs was the last hand."""
    await watch.known()
    watch.deal(by=by, **fields)
    told = (await watch.look(*(watch.event() for _ in range(events)))).get("tg:1007")
    assert (told is None) == (names is None)
    if told is not None:
        assert told.splitlines()[0].partition(" · изменено: ")[2] == names


async def test_events_before_the_last_look_do_not_count(watch: Watch) -> None:
    """One since then is one."""
    for _ in range(3):
        await watch.known()
    watch.deal(by=BORISS, **BOTH)
    assert "изменено: Борис Седов" in (await watch.look(watch.event()))["tg:1007"]


async def test_at_first_sight_nobody_is_named_and_it_is_nobodys_own(watch: Watch) -> None:
    """What was before is not known, so neither is what the last hand did."""
    watch.deal(by=ANNAS, OPPORTUNITY="5")
    assert "изменил" not in (await watch.look(watch.event()))["tg:1007"]


async def test_what_a_start_finds_is_of_one_hand_only_if_it_is_one_field(watch: Watch) -> None:
    """How many events were missed is not known."""
    await watch.known()
    watch.deal(by=ANNAS, **BOTH)
    await watch.world.orchestrator.start_feature("portal_start")
    assert " · " not in (await watch.look())["tg:1007"].splitlines()[0]


async def test_nobody_is_named_for_the_bots_caller_and_no_name_stands_over_a_strangers_change(watch: Watch) -> None:
    """Vera renamed through the bot after somebody changed the sum: the last hand is the webhook's owner, who did not."""
    await watch.known()
    session = await watch.world.session("tg:1006")
    session.watchers.append(watcher_of(watch.world.orchestrator).recent_writes.observe)
    await watch.world.submit(session, effect("crm.deal.update", {"id": 481, "fields": {"TITLE": "Лютик", "COMMENTS": "x"}}), actor=VERA)
    watch.deal(by=1, OPPORTUNITY="5")
    watch.world.portal.will("profile", says(200, {"result": {"ID": "1"}}))
    told = (await watch.look(watch.event(), watch.event()))["tg:1007"].splitlines()
    assert " · " not in told[0]
    assert sorted(told[1:]) == ["Название: Ромашка → Лютик", "Сумма: 1 000 000 ₽ → 5 ₽"]
