"""A portal client that only reads, for code that looks up names or checks the present state: it refuses every write."""

from collections.abc import Mapping
from typing import Any, Protocol

from bitrix.answers import Answer
from bitrix.catalogue.catalogue import Catalogue
from bitrix.client.batch import BatchError, parse_commands
from bitrix.errors import NotSent
from bitrix.limits.limiter import Priority

BATCH = "batch"


class PortalCaller(Protocol):
    """The interface of a portal client for code that reads from the portal."""

    @property
    def portal(self) -> str:
        """Host and port of the portal."""

    @property
    def base_url(self) -> str:
        """The URL at which people open the portal."""

    async def call(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        repeatable: bool = False,
        priority: Priority = Priority.INTERACTIVE,
        send_within: float | None = None,
    ) -> Answer:
        """POST one call and return its answer; for the arguments see `BitrixClient.call`. Raises NotSent, Refused or OutcomeUnknown."""


class WriteRefused(NotSent):
    """Code with a read-only client called a method that is not a read.

    For developers: nothing was sent. A write must be proposed as an effect, that is, as a call that the gate checks.
    """


class ReadOnlyClient:
    """Passes reads on to `client` and raises `WriteRefused` for everything else, before anything is sent.

    A read is a method that the catalogue lists with R (read) as its only class, or a batch of only such methods. A method that the
    catalogue does not list is refused in every safety mode (shadow, canary, full).
    """

    def __init__(self, client: PortalCaller, catalogue: Catalogue) -> None:
        """Keep `client` and `catalogue`; the owner of the client closes it."""
        self._client = client
        self._catalogue = catalogue

    @property
    def portal(self) -> str:
        """Host and port of the portal."""
        return self._client.portal

    @property
    def base_url(self) -> str:
        """The URL at which people open the portal."""
        return self._client.base_url

    async def call(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        repeatable: bool = False,
        priority: Priority = Priority.INTERACTIVE,
        send_within: float | None = None,
    ) -> Answer:
        """POST one read and return its answer; for the arguments see `BitrixClient.call`.

        Raises WriteRefused, NotSent, Refused or OutcomeUnknown.
        """
        if not (self._is_read(method) or (method == BATCH and self._is_batch_of_reads(params))):
            raise WriteRefused(f"{method} is no read")
        return await self._client.call(method, params, repeatable=repeatable, priority=priority, send_within=send_within)

    def _is_read(self, method: str) -> bool:
        found = self._catalogue.find(method)
        return found is not None and found.reads_only

    def _is_batch_of_reads(self, params: Mapping[str, Any]) -> bool:
        try:
            commands = parse_commands(params.get("cmd"))
        except BatchError:
            return False
        return all(self._is_read(command.method) for command in commands)
