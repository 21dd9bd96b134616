"""What doors may read of a session: projections of the journal. Never changes anything. Ring 2."""

from collections.abc import Mapping
from typing import Any

from state.agent_state import list_open_confirmations
from state.journal import load_state
from state.worker import AsyncStore


async def load_session_state(store: AsyncStore, session: str) -> Mapping[str, Any]:
    """The folded state of a session, empty when nothing has happened in it."""
    state, _ = await store.read(load_state, f"session:{session}")
    return state


async def list_open_cards(store: AsyncStore, session: str) -> list[dict[str, Any]]:
    """The confirmations of a session that wait, oldest first."""
    return list_open_confirmations(dict(await load_session_state(store, session)))
