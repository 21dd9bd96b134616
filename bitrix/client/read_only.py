from collections.abc import Mapping
from typing import Any, Protocol

from bitrix.answers import Answer
from bitrix.catalogue.catalogue import Catalogue
from bitrix.client.batch import BatchError, parse_commands
from bitrix.errors import NotSent
from bitrix.limits.limiter import Priority

BATCH = "batch"


class PortalCaller(Protocol):
    @property
    def portal(self) -> str: ...

    @property
    def base_url(self) -> str: ...

    async def call(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        repeatable: bool = False,
        priority: Priority = Priority.INTERACTIVE,
        send_within: float | None = None,
    ) -> Answer: ...


class WriteRefused(NotSent):
    """Code with a read-only client called a method that is not a read.

    Nothing was sent. A write must be proposed as an effect, which the gate checks.
    """


class ReadOnlyClient:
    """Passes reads on and raises `WriteRefused` for everything else, in every safety mode."""

    def __init__(self, client: PortalCaller, catalogue: Catalogue) -> None:
        self._client = client
        self._catalogue = catalogue

    @property
    def portal(self) -> str:
        return self._client.portal

    @property
    def base_url(self) -> str:
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
        if not (self._is_read(method) or (method == BATCH and self._is_batch_of_reads(params))):
            raise WriteRefused(f"{method} is no read")
        return await self._client.call(method, params, repeatable=repeatable, priority=priority, send_within=send_within)

    def _is_read(self, method: str) -> bool:
        row = self._catalogue.find(method)
        return row is not None and row.reads_only

    def _is_batch_of_reads(self, params: Mapping[str, Any]) -> bool:
        try:
            commands = parse_commands(params.get("cmd"))
        except BatchError:
            return False
        return all(self._is_read(command.method) for command in commands)
