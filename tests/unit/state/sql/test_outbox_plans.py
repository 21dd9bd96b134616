"""However many messages wait for delivery, commits and deliveries find theirs by an index."""

import re

import pytest

from state.sql import open_store


@pytest.mark.parametrize("name", ["add_first_with_key", "unsent_with_key", "keep_delivery", "drop_outbox", "drop_replaced", "outbox_retry"])
def test_no_statement_about_one_message_reads_the_whole_outbox(name: str) -> None:
    """Four thousand messages that cannot be delivered would make each turn dearer."""
    store = open_store("sqlite://")
    statement = getattr(store._statements, name)
    values = dict.fromkeys(re.findall(r":(\w+)", statement.sql), "x")
    with store._database.read() as transaction:
        plan = [row[3] for row in transaction._cursor.execute(f"EXPLAIN QUERY PLAN {statement.sql}", values)]
    store.close()
    assert any("SEARCH outbox USING" in line for line in plan)
    assert not any(line.startswith("SCAN outbox") for line in plan)


def test_what_is_due_is_found_by_an_index_of_what_waits() -> None:
    """Failed messages stay for operators to see, and are not read again and again."""
    store = open_store("sqlite://")
    statement = store._statements.due_outbox
    values = dict.fromkeys(re.findall(r":(\w+)", statement.sql), 1)
    with store._database.read() as transaction:
        plan = [row[3] for row in transaction._cursor.execute(f"EXPLAIN QUERY PLAN {statement.sql}", values)]
    store.close()
    looks = [line for line in plan if "unsent" in line or "earlier" in line]
    assert len(looks) == 2
    assert all("INDEX ix_outbox_new" in line for line in looks)
    assert not any(line.startswith("SCAN outbox") for line in plan)
