"""Sandbox portal, context: the object `Call` that each method receives; it contains nothing of HTTP."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sandbox.portal.errors import classic, missing_parameter
from sandbox.portal.rights import EVERYTHING, Rights
from sandbox.portal.schema import Row
from sandbox.portal.store import Store
from sandbox.portal.values import store_moment

Emit = Callable[[str, Row], None]


@dataclass(frozen=True)
class Call:
    """The input of one method call: the caller, the time, the parameters and the store. `emit` raises a portal event."""

    store: Store
    user_id: int
    by_app: bool
    now: datetime
    params: Row
    emit: Emit
    known_methods: Collection[str]
    rights: Rights = EVERYTHING
    base_url: str = "/"

    @property
    def stamp(self) -> str:
        """The time of the call as text, in the format of the store (UTC)."""
        return store_moment(self.now)

    def arg(self, name: str) -> Any:
        """Return a top-level parameter by its exact name, or None."""
        return self.params.get(name)

    def any_case(self, name: str) -> Any:
        """Return a top-level parameter, or None; its name may be in any case, as in the old CRM methods (`crm.deal.*` and the like)."""
        if name in self.params:
            return self.params[name]
        return next((v for k, v in self.params.items() if k.lower() == name.lower()), None)

    def folded(self) -> Row:
        """Return all parameters with lower-case names."""
        return {key.lower(): value for key, value in self.params.items()}

    def required(self, name: str) -> Any:
        """Return a parameter that must be present and not empty. Raises PortalError 100, as the universal methods (`crm.item.*`) do."""
        value = self.params.get(name)
        if value is None or value == "":
            raise missing_parameter(name)
        return value

    def required_map(self, name: str) -> Row:
        """Return a required parameter as a dict. Raises PortalError for a missing one or for a scalar.

        A list becomes a dict with the positions as keys, because PHP writes an empty map as an empty list.
        """
        value = self.required(name)
        if not isinstance(value, dict | list):
            raise missing_parameter(name)
        return value if isinstance(value, dict) else {str(i): item for i, item in enumerate(value)}

    def classic_id(self) -> int:
        """Return the parameter `id` as a positive integer. Raises the error of the old CRM methods if it is anything else."""
        raw = self.any_case("id")
        text = str(raw).strip()
        if isinstance(raw, bool) or not text.isdecimal() or int(text) <= 0:
            raise classic("ID is not defined or invalid.")
        return int(text)
