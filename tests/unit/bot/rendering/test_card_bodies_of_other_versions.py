"""Stored cards of a later version, seen again after a rollback: what is unknown is passed over, the card is drawn."""

from bot.i18n.translate import Translator
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from orchestrator.directory.rows import RecordRow

BODY = {
    "confirmation_id": "c1",
    "status": "requested",
    "method": "crm.deal.update",
    "expires_at": "2026-11-23T12:00:00Z",
    "preview": {"verb": "update", "entity": "deal", "id": 481, "title": "Ромашка", "lines": [], "since": 2},
    "reasons": [{"code": "gate-model-asks", "args": {}, "since": 2}],
    "commands": [{"key": "a", "method": "crm.deal.update", "status": "success", "since": 2}],
    "since": 2,
}


def test_a_card_with_unknown_keys_is_drawn() -> None:
    """In the card, in its reasons and in the reports of a batch."""
    assert "Изменить сделку «Ромашка»" in to_plain_text(render_message("card", BODY, Translator("ru")))


def test_a_blank_value_in_one_spelling_gives_way_to_the_other() -> None:
    """The portal gives some fields in two spellings, one of them empty."""
    row = RecordRow.model_validate({"ID": None, "id": 7, "TITLE": None, "title": "x", "STAGE_ID": "", "STATUS_ID": "NEW", "CLOSED": ""})
    assert (row.id, row.title, row.stage, row.closed) == (7, "x", "NEW", None)
