"""The tokens of HTTP_API_TOKENS and their rights. Only hashes are kept; an error message names an entry by position, never by value."""

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
from orchestrator.domain.taint import UNDECLARED, Origins
from orchestrator.turns.group_decisions import OVER_HTTP

PREFIX: Final = "http:"
OWN_WORDS: Final[Origins] = frozenset({"person"})
SHORTEST: Final = 16
LONGEST: Final = 512
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_TOKEN = re.compile(r"[!-~]+")
_HARD_TO_GUESS: Final = 80.0
"""Bits of a token that nobody finds by trying, whatever the number of requests."""
_RANDOM_CHANGES: Final = 0.25
"""Least share of neighbouring characters of different kinds (a-z, A-Z, digits), signs left out; in random texts it is about one half."""
_KINDS: Final = (("[a-f]", 6), ("[g-z]", 20), ("[A-Z]", 26), ("[0-9]", 10), ("[^a-zA-Z0-9]", 4))
"""The sets of characters of which a token may be made, with their sizes; of signs only the four of usual encodings are counted."""


Grants = Callable[[str], TokenGrant | None]
"""Returns what the access file now grants to the token with this name, None if it does not list the token."""


@dataclass(frozen=True, kw_only=True)
class Client:
    """A caller of the API: the name and rights of its token, and the token's SHA-256 hash (`digest`). The token itself is not kept.

    `name` and `actor` are not secret.
    """

    name: str
    actor: Actor
    digest: bytes
    customers: bool = False
    """Whether its messages are written by customers, according to its entry in the access file; they are then never instructions."""
    has_own_words: bool = False
    """Whether the values with which it starts runs are the words of the person behind the token, according to the access file."""
    is_guessable: bool = True
    """Whether the token may be found by trying, so that it needs the lock-out after wrong tokens."""
    via: str = OVER_HTTP
    """How what the caller does has come, as the journal says it."""
    helper: Actor | None = None
    """The local user of the command line who acts for `actor`; None for a caller who acts for nobody else."""

    @property
    def value_origins(self) -> Origins:
        """Where the values of a run come from that it starts: a program may pass on what anybody wrote, so these are no person's words."""
        return OWN_WORDS if self.has_own_words and not self.customers else UNDECLARED


class Tokens:
    """Finds the client of a token among all tokens of this installation.

    Rights that the access file gives to a token are looked up at each call, since the file may change.
    """

    def __init__(self, clients: Sequence[Client], grants: Grants = lambda _: None) -> None:
        """Create the list from `clients`.

        `grants` returns the access file's entry for a token (employee, whose records it sees, language, time zone), None if there is none.
        """
        self._clients = {client.name: client for client in clients}
        self._grants = grants

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self._clients)

    def find_client(self, presented: str) -> Client | None:
        """Return the client of the token with its present rights, None for a wrong token; every wrong token takes the same time."""
        digest = _hash_token(presented)
        found: Client | None = None
        for client in self._clients.values():
            if hmac.compare_digest(client.digest, digest):
                found = client
        return self._apply_grant(found) if found is not None else None

    def find_by_name(self, name: str) -> Client | None:
        """Return the client of the token with this name, with its present rights; None if there is no such token."""
        client = self._clients.get(name)
        return self._apply_grant(client) if client is not None else None

    def refresh_actor(self, actor: Actor) -> Actor | None:
        """Return the actor of an API token ("http:<name>") with the token's present rights; None if the token was removed.

        If the safety mode of the given actor allows less than that of the token, the actor keeps its own.
        """
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


def pick_lower_mode(one: Mode, other: Mode) -> Mode:
    """Return the safety mode that allows less; from least to most these are shadow (nothing is written), canary and full."""
    return min(one, other, key=MODES.index)


def read_tokens(listed: SecretStr | None, mode: Mode) -> list[Client]:
    """Return the clients listed in HTTP_API_TOKENS (S004-62), none if it is not set; an entry without a mode has `mode`.

    Raises SettingsError that names an invalid entry by its position.
    """
    entries = [entry.strip() for entry in listed.get_secret_value().split(",")] if listed is not None else []
    clients = [_parse_client(entry, number, mode) for number, entry in enumerate(entries, start=1) if entry]
    if listed is not None and not clients:
        raise SettingsError("HTTP_API_TOKENS: no token is listed; write name=token:role:mode, or leave it out for no API")
    for number, client in enumerate(clients):
        for earlier in clients[:number]:
            if earlier.digest == client.digest:
                raise SettingsError("HTTP_API_TOKENS: the same token is listed twice")
            if earlier.name == client.name:
                raise SettingsError(f"HTTP_API_TOKENS: the name {client.name} is listed twice")
    return clients


def _parse_client(entry: str, number: int, mode: Mode) -> Client:
    """Return the client of an entry "name=token:role:mode", of "name=token", or of an entry that is only a token.

    A client without a role may not approve cards, and one without a mode has the safety mode `mode`. Raises SettingsError for an invalid
    entry, which it names by its position `number`.
    """

    def wrong(why: str) -> SettingsError:
        return SettingsError(f"HTTP_API_TOKENS: entry {number} {why}; write name=token:role:mode")

    name, named, rest = entry.partition("=")
    token, *rights = (rest if named else entry).split(":")
    if named and not _NAME.fullmatch(name):
        raise wrong("has a name that is not 1 to 32 letters, digits, - or _")
    if not _TOKEN.fullmatch(token) or not SHORTEST <= len(token) <= LONGEST:
        raise wrong(f"has no token of {SHORTEST} to {LONGEST} printable characters without spaces")
    if rights and not named:
        raise wrong("has a role and no name")
    if len(rights) > len(("role", "mode")):
        raise wrong("has more than a role and a mode")
    role = _match_word(rights[0], get_args(Role)) if rights else "manager"
    highest = _match_word(rights[1], MODES) if len(rights) > 1 else mode
    if role is None or highest is None:
        raise wrong(f"has no role of {', '.join(get_args(Role))} or no mode of {', '.join(MODES)}")
    digest = _hash_token(token)
    name = name if named else f"token-{digest.hex()[:12]}"
    actor = Actor.model_validate(
        {"key": PREFIX + name, "name": name, "role": role, "max_mode": highest, "sees": "all", "may_approve": bool(rights)}
    )
    return Client(name=name, actor=actor, digest=digest, is_guessable=not _is_hard_to_guess(token))


def _is_hard_to_guess(token: str) -> bool:
    """Return whether the token looks random and is long enough that nobody finds it by trying.

    Runs ("0123", "aaaa") and repeated pairs of characters do not count. A token that is wrongly taken for a guessable one only keeps the
    lock-out.
    """
    pairs = {pair for pair in pairwise(token) if abs(ord(pair[0]) - ord(pair[1])) > 1}
    alphabet = sum(size for kind, size in _KINDS if re.search(kind, token))
    changes = sum(_find_kind(one) != _find_kind(other) for one, other in pairwise(re.sub("[^a-zA-Z0-9]", "", token)))
    return len(pairs) * log2(alphabet) >= _HARD_TO_GUESS and changes >= len(token) * _RANDOM_CHANGES


def _find_kind(character: str) -> int:
    return 0 if character.islower() else 1 if character.isupper() else 2


def _match_word(word: str, known: Sequence[str]) -> str | None:
    return word if word in known else None


def _hash_token(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
