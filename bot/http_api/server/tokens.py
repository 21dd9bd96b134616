"""HTTP_API_TOKENS. Only hashes are kept; errors name an entry by position, never by value."""

import hmac
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from math import log2
from typing import Final, Literal, get_args

from pydantic import SecretStr

from bot.access.access_file import TokenGrant
from orchestrator.domain.actor import MODES, Actor, Mode, Role
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.inputs import OVER_HTTP
from orchestrator.domain.taint import UNDECLARED, Origins

PREFIX: Final = "http:"
OWN_WORDS: Final[Origins] = frozenset({"person"})
SHORTEST: Final = 16
LONGEST: Final = 512
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_TOKEN = re.compile(r"[!-~]+")
_HARD_TO_GUESS: Final = 80.0
"""Bits that nobody finds by trying."""
_RANDOM_CHANGES: Final = 0.25
"""Least share of neighbours of different kinds (a-z, A-Z, digits), without signs; about half in random texts."""
_KINDS: Final = (("[a-f]", 6), ("[g-z]", 20), ("[A-Z]", 26), ("[0-9]", 10), ("[^a-zA-Z0-9]", 4))
"""Characters of a token with their number; of signs only the four of usual encodings."""


Grants = Callable[[str], TokenGrant | None]
"""What the access file now grants to a token, None if it is not listed."""


@dataclass(frozen=True, kw_only=True)
class Client:
    """The token itself is not kept, only its SHA-256 (`digest`)."""

    name: str
    actor: Actor
    digest: bytes
    customers: bool = False
    """Its messages are customers', by the access file: never instructions."""
    has_own_words: bool = False
    """The values of its runs are the person's words, by the access file."""
    is_guessable: bool = True
    """May be found by trying, so that it needs the lock-out."""
    via: str = OVER_HTTP
    """As the journal says it."""
    helper: Actor | None = None
    """The local user who acts for `actor`, None for nobody else."""

    @property
    def reader(self) -> Actor:
        """Whose language and time zone the answers have."""
        return self.helper or self.actor

    @property
    def value_origins(self) -> Origins:
        """A program may pass on what anybody wrote, so these are no person's words."""
        return OWN_WORDS if self.has_own_words and not self.customers else UNDECLARED


class Tokens:
    """Rights of the access file are looked up at each call."""

    def __init__(self, clients: Sequence[Client], grants: Grants = lambda _: None) -> None:
        """`grants` reads the access file, None for an unknown token."""
        self._clients = {client.name: client for client in clients}
        self._grants = grants

    def __len__(self) -> int:
        return len(self._clients)

    def find_client(self, presented: str) -> Client | None:
        """With present rights, None for a wrong token; every wrong token takes the same time."""
        digest = hash_token(presented)
        match: Client | None = None
        for client in self._clients.values():
            if hmac.compare_digest(client.digest, digest):
                match = client
        return self._apply_grant(match) if match is not None else None

    def find_by_name(self, name: str) -> Client | None:
        """With present rights; None if there is none."""
        client = self._clients.get(name)
        return self._apply_grant(client) if client is not None else None

    def refresh_actor(self, actor: Actor) -> Actor | None:
        """The actor "http:<name>" with present rights; None if the token was removed. A lower mode of the actor stays."""
        client = self.find_by_name(actor.key.removeprefix(PREFIX)) if actor.key.startswith(PREFIX) else None
        if client is None:
            return None
        now = client.actor
        return now.model_copy(update={"max_mode": pick_lower_mode(now.max_mode, actor.max_mode)})

    def _apply_grant(self, client: Client) -> Client:
        grant = self._grants(client.name)
        if grant is None:
            return client
        seen: Literal["own", "all"] = "own" if grant.bitrix_user_id is not None and client.actor.role == "manager" else "all"
        rights = {
            "bitrix_user_id": grant.bitrix_user_id,
            "sees": tuple(grant.sees) if isinstance(grant.sees, list) else grant.sees or seen,
            "locale": grant.locale,
            **({"time_zone": grant.time_zone} if grant.time_zone else {}),
            **({"for_customers": True, "may_approve": False} if grant.customers else {}),
        }
        actor = client.actor.model_copy(update=rights)
        return replace(client, actor=actor, customers=grant.customers, has_own_words=grant.words == "own")


def pick_lower_mode(first: Mode, other: Mode) -> Mode:
    """The one that allows less: shadow (nothing is written), canary, full."""
    return min(first, other, key=MODES.index)


def read_tokens(listing: SecretStr | None, mode: Mode) -> list[Client]:
    """Clients of HTTP_API_TOKENS (S004-62); none if not set. `mode` by default. Raises SettingsError, by position."""
    entries = [entry.strip() for entry in listing.get_secret_value().split(",")] if listing is not None else []
    clients = [_parse_client(entry, number, mode) for number, entry in enumerate(entries, start=1) if entry]
    if listing is not None and not clients:
        raise SettingsError("HTTP_API_TOKENS: no token is listed; write name=token:role:mode, or leave it out for no API")
    for number, client in enumerate(clients):
        for earlier in clients[:number]:
            if earlier.digest == client.digest:
                raise SettingsError("HTTP_API_TOKENS: the same token is listed twice")
            if earlier.name == client.name:
                raise SettingsError(f"HTTP_API_TOKENS: the name {client.name} is listed twice")
    return clients


def _parse_client(entry: str, number: int, mode: Mode) -> Client:
    """ "name=token:role:mode", "name=token" or a token. Without a role it approves no cards. Raises SettingsError naming `number`."""

    def wrong(why: str) -> SettingsError:
        return SettingsError(f"HTTP_API_TOKENS: entry {number} {why}; write name=token:role:mode")

    name, equals, rest = entry.partition("=")
    token, *rights = (rest if equals else entry).split(":")
    if equals and not _NAME.fullmatch(name):
        raise wrong("has a name that is not 1 to 32 letters, digits, - or _")
    if not _TOKEN.fullmatch(token) or not SHORTEST <= len(token) <= LONGEST:
        raise wrong(f"has no token of {SHORTEST} to {LONGEST} printable characters without spaces")
    if rights and not equals:
        raise wrong("has a role and no name")
    if len(rights) > len(("role", "mode")):
        raise wrong("has more than a role and a mode")
    role = _match_word(rights[0], get_args(Role)) if rights else "manager"
    highest = _match_word(rights[1], MODES) if len(rights) > 1 else mode
    if role is None or highest is None:
        raise wrong(f"has no role of {', '.join(get_args(Role))} or no mode of {', '.join(MODES)}")
    digest = hash_token(token)
    name = name if equals else f"token-{digest.hex()[:12]}"
    actor = Actor.model_validate(
        {"key": PREFIX + name, "name": name, "role": role, "max_mode": highest, "sees": "all", "may_approve": bool(rights)}
    )
    return Client(name=name, actor=actor, digest=digest, is_guessable=not _is_hard_to_guess(token))


def _is_hard_to_guess(token: str) -> bool:
    """Random and long enough; runs and repeated pairs do not count. One wrongly called guessable only keeps the lock-out."""
    pairs = {pair for pair in pairwise(token) if abs(ord(pair[0]) - ord(pair[1])) > 1}
    alphabet = sum(size for kind, size in _KINDS if re.search(kind, token))
    changes = sum(_find_kind(one) != _find_kind(other) for one, other in pairwise(re.sub("[^a-zA-Z0-9]", "", token)))
    return len(pairs) * log2(alphabet) >= _HARD_TO_GUESS and changes >= len(token) * _RANDOM_CHANGES


def _find_kind(character: str) -> int:
    return 0 if character.islower() else 1 if character.isupper() else 2


def _match_word(word: str, known: Sequence[str]) -> str | None:
    return word if word in known else None


def hash_token(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
