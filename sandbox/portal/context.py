"""Sandbox portal, context: the arguments of one method call; methods see nothing of HTTP."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sandbox.portal.errors import classic, missing_parameter
from sandbox.portal.schema import Row
from sandbox.portal.store import Store
from sandbox.portal.values import store_moment

Emit = Callable[[str, Row], None]


@dataclass(frozen=True)
class Call:
    """One command being executed: by whom, when, with which parameters, on which records."""

    store: Store
    user_id: int
    by_app: bool
    now: datetime
    params: Row
    emit: Emit
    known_methods: Collection[str]

    @property
    def stamp(self) -> str:
        """This time in the format of the store."""
        return store_moment(self.now)

    def arg(self, name: str) -> Any:
        """Return a top-level parameter in exactly this spelling."""
        return self.params.get(name)

    def any_case(self, name: str) -> Any:
        """Return a top-level parameter in any case, as the old CRM methods accept it."""
        if name in self.params:
            return self.params[name]
        return next((v for k, v in self.params.items() if k.lower() == name.lower()), None)

    def folded(self) -> Row:
        """Return all parameters with lower-case names."""
        return {key.lower(): value for key, value in self.params.items()}

    def required(self, name: str) -> Any:
        """Return a parameter that the universal methods require; raise error 100 if it is missing."""
        value = self.params.get(name)
        if value is None or value == "":
            raise missing_parameter(name)
        return value

    def required_map(self, name: str) -> Row:
        """Return a required parameter that must be a map; an empty one (PHP writes it as a list) is allowed."""
        value = self.required(name)
        if not isinstance(value, dict | list):
            raise missing_parameter(name)
        return value if isinstance(value, dict) else {str(i): item for i, item in enumerate(value)}

    def classic_id(self) -> int:
        """Return the `id` of an old method; raise its error if it is no positive number."""
        raw = self.any_case("id")
        text = str(raw).strip()
        if isinstance(raw, bool) or not text.isdecimal() or int(text) <= 0:
            raise classic("ID is not defined or invalid.")
        return int(text)
