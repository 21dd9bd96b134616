"""Finds the actor (somebody with rights) behind a key for commands that judge recorded calls: with the rights that hold today."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bot.access.access import Access, load_access
from bot.http_api.server.tokens import PREFIX, Tokens, read_tokens
from bot.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.features.people.registry import STREAM, extract_registry
from state.events.codec import UnknownEvent
from state.journal.journal import load_state
from state.journal.store import StoreError

if TYPE_CHECKING:
    from state.journal.store import Store

FindActor = Callable[[str], Actor | None]


def build_actor_finder(settings: Settings, store: "Store | None" = None) -> FindActor:
    """Return a function that finds the actor with a key, with their present rights; it returns None for who has no access today.

    It knows the people of the access file, those who joined by invitation, as `store` has them, the tokens of the HTTP API, and the local
    user of the command line. Raises SettingsError for an invalid access file or list of tokens.
    """
    access = load_access(settings.access_file)
    tokens = Tokens(read_tokens(settings.http_api_tokens, settings.agent_mode), access.find_grant)
    if store is not None:
        _add_joined_people(access, store)

    def find(key: str) -> Actor | None:
        door, _, name = key.partition(":")
        if door == "cli":
            return Actor(key=key, name=name, role="admin", sees="all")
        if key.startswith(PREFIX):
            client = tokens.find_by_name(name)
            return client.actor if client is not None else None
        return access.find_actor_by_key(key)

    return find


def _add_joined_people(access: Access, store: "Store") -> None:
    """Add the people who joined by invitation; a registry that cannot be read is left out, and then only the file's people are known."""
    try:
        state, seq = load_state(store, STREAM)
    except (StoreError, UnknownEvent):
        return
    access.apply_registry(extract_registry(state), seq)
