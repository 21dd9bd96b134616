"""Sandbox portal, restore: puts single records back to their seeded values, for scenes of the demo that need them."""

from __future__ import annotations

from collections.abc import Iterable

from sandbox.portal import seed
from sandbox.portal.portal import Portal
from sandbox.portal.schema import Row
from sandbox.portal.store import Store
from sandbox.portal.values import store_moment

_STAMPS = ("DATE_", "MODIFY_", "MOVED_", "LAST_ACTIVITY")
"""Beginnings of the fields that say when and by whom a record was touched; they do not tell a changed record."""


def restore_records(portal: Portal, entity: str, ids: Iterable[int], base_url: str) -> list[int]:
    """Put the records `ids` of a kind back to their seeded values and return the ids of all records that this changed.

    Another record with the same title as one of these would make the title ambiguous. It is therefore put back to its seeded values too, or
    deleted if it was not seeded. Every record that is put back raises an event, as if the responsible person had changed it in the portal's
    pages. Raises KeyError for an id that is not seeded.
    """
    seeded = _seeded_rows(portal, entity)
    wanted = [seeded[number] for number in ids]
    changed = [row for row in wanted if _differs(portal.store.get(entity, row["ID"]), row)]
    titles = [str(row["TITLE"]).casefold() for row in wanted]
    namesakes = [row for row in portal.store.walk(entity) if _is_namesake(row, titles) and _differs(row, seeded.get(row["ID"]))]
    changed += [seeded[row["ID"]] for row in namesakes if row["ID"] in seeded and row["ID"] not in ids]
    invented = [row for row in namesakes if row["ID"] not in seeded]
    for row in changed:
        portal.edit(entity, {**row, "MODIFY_BY_ID": row["ASSIGNED_BY_ID"], "DATE_MODIFY": store_moment(portal.now)}, base_url)
    for row in invented:
        portal.store.remove(entity, row["ID"])
    portal.store.commit()
    return [row["ID"] for row in [*changed, *invented]]


def _seeded_rows(portal: Portal, entity: str) -> dict[int, Row]:
    """Return the rows of a kind by id as a portal that was seeded this hour would hold them."""
    fresh = Store(None)
    seed.fill(fresh, portal.now)
    rows = {row["ID"]: row for row in fresh.walk(entity)}
    fresh.close()
    return rows


def _differs(row: Row | None, seeded: Row | None) -> bool:
    if row is None or seeded is None:
        return True
    return any(row.get(name) != value for name, value in seeded.items() if not name.startswith(_STAMPS))


def _is_namesake(row: Row, titles: Iterable[str]) -> bool:
    return any(title in str(row["TITLE"]).casefold() for title in titles)
