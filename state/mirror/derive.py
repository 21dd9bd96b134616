"""What is computed from the rows, as `schema.py` says: for the records of a portion, within the transaction that changes them."""

import sqlite3
from collections.abc import Iterable
from typing import Final

CHANCE_SECONDS: Final = 365 * 86400
FEWEST_FOR_CHANCE: Final = 30


def derive_deals(connection: sqlite3.Connection, deals: Iterable[int]) -> None:
    """The moves of these deals, when they were closed, and how far they came."""
    _fill_touched(connection, deals)
    connection.execute(_STAYS)
    connection.execute(_CLOSED_DEALS)
    connection.execute(_REACHED)


def derive_reached(connection: sqlite3.Connection) -> None:
    """Of all deals, after the order of the stages has changed."""
    _fill_touched(connection, (number for (number,) in connection.execute("SELECT id FROM deal").fetchall()))
    connection.execute(_REACHED)


def derive_called(connection: sqlite3.Connection, leads: Iterable[int], source: str) -> None:
    """`source` is "voximplant" or "activities": what counts as a call."""
    _fill_touched(connection, leads)
    connection.execute(_CALLED_BY_SOURCE[source])


def derive_items(connection: sqlite3.Connection, type_id: int) -> None:
    """Their stages say nothing of their meaning: it is read from `stage`."""
    connection.execute(_ITEMS, {"type": type_id, "kind": f"item:{type_id}"})


def derive_chances(connection: sqlite3.Connection, now: int) -> None:
    connection.execute("DELETE FROM chance")
    connection.execute(_CHANCES, {"since": now - CHANCE_SECONDS, "fewest": FEWEST_FOR_CHANCE})


def _fill_touched(connection: sqlite3.Connection, ids: Iterable[int]) -> None:
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS touched (id INTEGER PRIMARY KEY)")
    connection.execute("DELETE FROM touched")
    connection.executemany("INSERT OR IGNORE INTO touched VALUES (?)", ((number,) for number in ids))


_STAYS: Final = """
UPDATE move SET left = stay.ended, came_from = stay.before FROM (
    SELECT id AS move_id, lead(entered) OVER line AS ended, lag(stage) OVER line AS before FROM move
    WHERE deal IN (SELECT id FROM touched) WINDOW line AS (PARTITION BY deal ORDER BY entered, id)) AS stay
WHERE move.id = stay.move_id AND (move.left IS NOT stay.ended OR move.came_from IS NOT stay.before)
"""
# A final move is of type 3; a deal may also be created on a final stage (1) or come to one of another funnel (5).
_CLOSED_DEALS: Final = """
UPDATE deal SET closed = CASE WHEN semantics = 'P' THEN NULL ELSE coalesce((
    SELECT CASE WHEN final >= coalesce(open, 0) THEN final WHEN ended >= coalesce(open, 0) THEN ended END FROM (
        SELECT max(CASE WHEN type = 3 THEN entered END) AS final, max(CASE WHEN semantics <> 'P' THEN entered END) AS ended,
            max(CASE WHEN semantics = 'P' THEN entered END) AS open FROM move WHERE move.deal = deal.id)), moved, modified) END
WHERE id IN (SELECT id FROM touched)
"""
# Stages of another funnel have an order of their own.
_REACHED: Final = """
UPDATE deal SET reached = far.sort FROM (SELECT id, max(sort) AS sort FROM (
    SELECT id, NULL AS sort FROM touched
    UNION ALL
    SELECT deal.id, stage.sort FROM touched CROSS JOIN deal ON deal.id = touched.id
        CROSS JOIN stage ON stage.kind = 'deal' AND stage.funnel = deal.funnel AND stage.code = deal.stage AND stage.semantics <> 'F'
    UNION ALL
    SELECT deal.id, stage.sort FROM touched CROSS JOIN deal ON deal.id = touched.id
        CROSS JOIN move ON move.deal = deal.id AND move.funnel = deal.funnel
        CROSS JOIN stage ON stage.kind = 'deal' AND stage.funnel = move.funnel AND stage.code = move.stage AND stage.semantics <> 'F')
    GROUP BY id) AS far
WHERE deal.id = far.id AND deal.reached IS NOT far.sort
"""
_CALLED_BY_SOURCE: Final = {
    "voximplant": """
UPDATE lead SET called = (SELECT min(started) FROM call WHERE owner_type = 1 AND owner = lead.id AND direction IN (1, 4))
WHERE id IN (SELECT id FROM touched)
""",
    "activities": """
UPDATE lead SET called = (SELECT min(coalesce(started, created)) FROM activity
    WHERE owner_type = 1 AND owner = lead.id AND type = 2 AND direction = 2)
WHERE id IN (SELECT id FROM touched)
""",
}
"""Outgoing is 1 (and 4, a callback) for telephony, but 2 in activities."""
_ITEMS: Final = """
UPDATE item SET semantics = coalesce((
        SELECT stage.semantics FROM stage WHERE stage.kind = :kind AND stage.code = item.stage AND stage.funnel = item.funnel), 'P'),
    closed = CASE WHEN coalesce((
        SELECT stage.semantics FROM stage WHERE stage.kind = :kind AND stage.code = item.stage AND stage.funnel = item.funnel), 'P') <> 'P'
        THEN coalesce(moved, modified) END
WHERE type = :type
"""
_CHANCES: Final = """
INSERT INTO chance
WITH ended AS (SELECT id, funnel, semantics = 'S' AS is_won FROM deal WHERE semantics <> 'P' AND closed >= :since),
    visit AS (SELECT DISTINCT move.deal, move.funnel, move.stage, is_won FROM ended CROSS JOIN move ON move.deal = ended.id
        WHERE move.semantics = 'P'),
    by_stage AS (SELECT visit.funnel, visit.stage, avg(is_won) AS share, count(*) AS closed FROM visit GROUP BY visit.funnel, visit.stage),
    by_funnel AS (SELECT funnel, avg(is_won) AS share, count(*) AS closed FROM ended GROUP BY funnel)
SELECT stage.funnel, stage.code, CASE WHEN by_stage.closed >= :fewest THEN by_stage.share ELSE by_funnel.share END,
    CASE WHEN by_stage.closed >= :fewest THEN by_stage.closed ELSE by_funnel.closed END
FROM stage JOIN by_funnel ON by_funnel.funnel = stage.funnel
LEFT JOIN by_stage ON by_stage.funnel = stage.funnel AND by_stage.stage = stage.code
WHERE stage.kind = 'deal' AND stage.semantics = 'P'
"""
