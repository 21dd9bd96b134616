"""How deliveries enter and leave the outbox (ring 1). A delivered row is deleted; where its key arrived is kept.

Rows of a session go out in the order of their `pos`. A row with the key of an unsent one takes that one's place; the
old one stays as "replaced" until the new one is out, for it may be on the wire and still report where it arrived.
"""

from state.sql import rows
from state.sql.database import Transaction
from state.sql.statements import Statements
from state.store import OutboxRow, StoreError


def put_outbox(transaction: Transaction, statements: Statements, row: OutboxRow) -> None:
    """Add a delivery, or put it in the place of the unsent one with its key."""
    params = rows.to_outbox_params(row)
    if not row.key:
        transaction.run(statements.add_outbox, params)
        return
    if transaction.run(statements.add_first_with_key, params):
        return
    found = transaction.fetch_row(statements.unsent_with_key, {"at_session": row.session, "at_key": row.key})
    if found is None:  # cannot be: what the insertion saw is of this transaction
        raise StoreError(f"{row.key} waits in the outbox and is not found there")
    position, old_id = found
    transaction.run(statements.replace_outbox, {**params, "at_pos": position})
    transaction.run(statements.add_outbox, {**params, "id": old_id, "status": "replaced", "body": "{}"})


def record_delivery(transaction: Transaction, statements: Statements, row_id: str, sent_ref: str) -> None:
    """Take a delivered row out, and note where its key arrived; nothing where the row is gone already."""
    found = transaction.fetch_row(statements.delivered, {"at_id": row_id})
    if found is None:
        return
    session, key, status = found
    transaction.run(statements.drop_outbox, {"at_id": row_id})
    if not key:
        return
    if sent_ref:
        transaction.run(statements.set_delivery, {"session": session, "key": key, "sent_ref": sent_ref})
    if status != "replaced":
        transaction.run(statements.drop_replaced, {"at_session": session, "at_key": key})
