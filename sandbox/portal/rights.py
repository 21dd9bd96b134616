"""Sandbox portal, rights: what the portal withholds from the people and applications that call it; a test sets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sandbox.portal.errors import PortalError
from sandbox.portal.schema import BY_TYPE_ID, Row, Schema
from sandbox.portal.store import Store

if TYPE_CHECKING:
    from sandbox.portal.query import Plan

_SCOPES: Final = {"tasks": "task", "voximplant": "telephony"}
"""Scopes by the first word of the methods, where the two differ."""
_OWNERS: Final[dict[Any, Schema]] = {code: schema for schema in BY_TYPE_ID.values() for code in (schema.type_id, schema.code)}
"""Kinds of records by the number and by the letters with which other rows name their owner."""
_SCOPE_TEXT: Final = "The request requires higher privileges than provided by the webhook token"


@dataclass(frozen=True, slots=True)
class Rights:
    """Scopes that the caller lacks, methods that its rights deny, and people whose records it does not see.

    The records of hidden people are left out of all lists and of `total`, with their history, activities, goods, calls and tasks.
    """

    without_scopes: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    hidden: frozenset[int] = frozenset()

    def check(self, method: str) -> None:
        """Raise PortalError if the scope of a method is missing or the method is denied."""
        word = method.partition(".")[0]
        if _SCOPES.get(word, word) in self.without_scopes:
            raise PortalError(403, "insufficient_scope", _SCOPE_TEXT)
        if method in self.denied:
            raise PortalError(403 if word == "voximplant" else 400, "ACCESS_DENIED", "Access denied!")

    def narrow(self, plan: Plan, store: Store) -> Plan:
        """Return the plan of a list for the records that may be seen."""
        return plan.narrow(lambda row: self.may_see(store, row)) if self.hidden else plan

    def may_see(self, store: Store, row: Row) -> bool:
        """Whether a record may be seen: its person is not hidden, nor that of the record to which it belongs."""
        if not self.hidden:
            return True
        person = row.get("ASSIGNED_BY_ID") or row.get("RESPONSIBLE_ID") or row.get("PORTAL_USER_ID")
        if "OWNER_ID" not in row:
            return person not in self.hidden
        code = row.get("OWNER_TYPE_ID") or row.get("ENTITY_TYPE_ID") or row.get("OWNER_TYPE")
        schema = _OWNERS.get(code)
        owner = store.get(schema.kind, row["OWNER_ID"]) if schema else None
        return owner is None or owner.get("ASSIGNED_BY_ID") not in self.hidden


EVERYTHING: Final = Rights()
