"""The pairs of the portal's application in the database, for `bitrix.oauth`. Ring 3; decides nothing about them."""

import contextlib
from collections.abc import Iterator

from state.store import StoreError
from state.worker import AsyncStore


class OAuthStore:
    """The port `bitrix.oauth.TokenStore` over the named values of the store."""

    def __init__(self, store: AsyncStore) -> None:
        """Keep the pairs in `store`."""
        self._store = store

    async def load(self, name: str) -> str | None:
        """What is stored under the name; raise OSError if it cannot be read."""
        with _translate_errors():
            return await self._store.get_value(name)

    async def swap(self, name: str, expected: str | None, text: str) -> bool:
        """Store `text` if `expected` is there now; raise OSError if it cannot be written."""
        with _translate_errors():
            return await self._store.swap_value(name, expected, text)


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """The error of the database without its words: they may quote what was being stored."""
    try:
        yield
    except StoreError as error:
        raise OSError(type(error).__name__) from None
