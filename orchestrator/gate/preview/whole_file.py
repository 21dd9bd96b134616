"""The card of a change of many records with all that its file has, for doors that show every record."""

from orchestrator.domain.card_view import BULK_VERB
from orchestrator.gate.call.kinds.bulk_methods import DIGEST
from orchestrator.gate.call.ports import BulkFiles
from state.model.card import Card


async def add_records(card: Card, files: BulkFiles) -> Card:
    """Any other card as it is, and one whose file is gone with some of its records. May raise StoreError."""
    preview = card.preview or {}
    if preview.get("verb") != BULK_VERB:
        return card
    file = await files.load(str(card.params.get(DIGEST) or ""))
    if file is None:
        return card
    return card.with_values(preview={**preview, "items": [call.shown.to_json() for call in file.calls]})
