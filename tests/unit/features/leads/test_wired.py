"""Heads of sales as the doors know them: the access file, the buttons of their copy, the press that comes back."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from bot.access.access import load_access
from bot.i18n.translate import Translator
from bot.telegram.intake.callbacks import ActionClick, CardClick, unpack
from bot.telegram.view.keyboards import build_card_keyboard
from orchestrator.domain.actor import Absence
from orchestrator.domain.card_view import CardView
from orchestrator.features.leads.approvers import LeadApprovers
from state.journal.store import InboxRow
from tests.unit.features.leads.leads_kit import by_chat
from tests.unit.spine_kit import CHAT, VERA, World, command, message, raise_sum, reply

ACCESS = """
people:
  - {telegram_id: 1007, name: Анна, bitrix_user_id: 7, lead: 1006}
  - {telegram_id: 1008, name: Борис, bitrix_user_id: 8}
  - {telegram_id: 1006, name: Вера, role: lead, bitrix_user_id: 6, away: 2026-11-23, deputy: 1005}
  - {telegram_id: 1005, name: Глеб, role: lead, bitrix_user_id: 5}
"""


def test_the_access_file_names_leads_deputies_and_days_off(tmp_path: Path) -> None:
    """A lead who is away until Monday is back on Tuesday."""
    path = tmp_path / "access.yaml"
    path.write_text(ACCESS, encoding="utf-8")
    access = load_access(path)
    assert (access.find_lead("tg:1007"), access.find_lead("tg:1008"), access.find_lead("tg:5")) == ("tg:1006", "", "")
    assert access.find_absence("tg:1006") == Absence(until=date(2026, 11, 23), deputy="tg:1005")
    assert access.find_absence("tg:1005") is None
    anna = access.find_actor(1007)
    assert anna is not None
    for day, found in ((23, "tg:1005"), (24, "tg:1006")):
        leads = LeadApprovers(access, lambda day=day: datetime(2026, 11, day, 9, 0, tzinfo=UTC))  # type: ignore[misc]
        assert [lead.key for lead in leads.find_leads(anna, lambda _: True)] == [found]


async def test_the_buttons_of_the_leads_copy_lead_home(department: World) -> None:
    """From the press in the lead's chat to the closed card in the requester's."""
    department.model.will(reply(raise_sum(2_500_000)))
    await department.work(message("подними"))
    cards = {row.session: row.body for row in department.outbox() if row.kind == "card"}
    mine, theirs = _presses(cards[CHAT]), _presses(cards[VERA.key])
    assert not [press for press in mine if isinstance(press, CardClick) and press.approve]
    assert {press.approve for press in theirs if isinstance(press, CardClick) and press.home == CHAT} == {True, False}
    why = next(press for press in theirs if isinstance(press, ActionClick) and press.words[0] == "why")
    made = command("x", actor=VERA, key=VERA.key)
    body = {"words": list(why.words), "callback_id": "c", "message_id": 1}
    await department.work(InboxRow(**{**made.__dict__, "kind": "press", "body": body}))
    assert by_chat(department.outbox())[VERA.key] == ["toast:lead-why-toast", "lead-why-ask"]


def _presses(body: dict[str, Any]) -> list[Any]:
    markup = build_card_keyboard(CardView.from_body(body), Translator("ru"))
    return [unpack(button.callback_data or "") for line in markup.inline_keyboard for button in line]
