"""A card that leads were asked about is shown in their chats too, by the very commit that shows it in its own. Ring 2, pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from state.clock import generate_id
from state.store import OutboxRow


def add_card_copies(outbox: Sequence[OutboxRow]) -> Sequence[OutboxRow]:
    """The same rows, each card followed by its copies for the leads it names. Their bodies name its `home`, to which presses go.

    A second tap is asked for only in the chat where the first one was (`at`); everywhere else the buttons stay as they were.
    """
    return [row for one in outbox for row in _copy_card(one)] if any(_has_notified_leads(row) for row in outbox) else outbox


def _has_notified_leads(row: OutboxRow) -> bool:
    return row.kind == "card" and bool(row.body.get("told")) and "home" not in row.body


def _copy_card(row: OutboxRow) -> Iterator[OutboxRow]:
    if not _has_notified_leads(row):
        yield row
        return
    at = row.body.get("at", row.session)
    for chat in (row.session, *row.body["told"]):
        stage = row.body.get("stage", 1) if chat == at else 1
        body = {**row.body, "stage": stage}
        if chat == row.session:
            yield replace(row, body=body)
        else:
            copy = replace(row, id=generate_id(), session=chat, channel=chat.partition(":")[0], body={**body, "home": row.session})
            yield copy
