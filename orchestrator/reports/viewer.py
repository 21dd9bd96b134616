"""Which cards, calls and conversations a caller may see and decide; the gate checks again.

Everything else is answered as if it did not exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any, Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import CARD_CHANNELS, TALK_CHANNELS
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.confirmations import Decision, calculate_second_nonce, can_see_all, check_entitlement
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.permissions import find_visible_users
from state.canonical import dumps, hash_text
from state.model.card import Card

Entry = Card
_DECIDING_ROLES: Final = frozenset({"lead", "admin"})


@dataclass(frozen=True, kw_only=True)
class Viewer:
    actor: Actor
    deps: GateDeps

    def is_own(self, session: str) -> bool:
        """A person's is "tg:1007"; a token's begin with its key ("http:site:42")."""
        return session == self.actor.key or session.startswith(f"{self.actor.key}:")

    def may_see_card(self, session: str, entry: Entry) -> bool:
        """Whoever asked for it may, in a group too; a run's card belongs to the run's person."""
        channel = session.partition(":")[0]
        if self.is_own(session) or (channel in CARD_CHANNELS and entry.requested_by == self.actor.key):
            return True
        by = entry.requested_by_user
        return channel in CARD_CHANNELS and self._may_see(entry.before or {}, by)

    def may_see_call(self, session: str, *, before: Mapping[str, Any], by: str, user: int | None) -> bool:
        """`before` has its records' earlier values; `by` requested it, as employee `user` (None: not known)."""
        return self.is_own(session) or by == self.actor.key or self._may_see(before, self.find_user(by) if user is None else user)

    def may_see_session(self, session: str) -> bool:
        """The person, and an administrator who may see their records; no lead."""
        if self.is_own(session):
            return True
        if session.partition(":")[0] not in TALK_CHANNELS or self.actor.role != "admin":
            return False
        visible = find_visible_users(self._acting)
        return visible is None or self.find_user(session) in visible

    def may_see_run(self, owner: str, *, with_words: bool = False) -> bool:
        """The owner, and leads and administrators who may see their records.

        Of others, only administrators may read `with_words`.
        """
        if owner == self.actor.key:
            return True
        if not self.is_lead or (with_words and self.actor.role != "admin"):
            return False
        visible = find_visible_users(self._acting)
        return visible is None or self.find_user(owner) in visible

    @property
    def is_lead(self) -> bool:
        """By their own role or a delegated one."""
        return self._acting.role in _DECIDING_ROLES

    def find_objection(self, entry: Entry, *, approve: bool) -> Notice | None:
        """None if they may."""
        own = self.actor.key == entry.requested_by
        actor = self.actor if own else self._acting
        decision = Decision(confirmation_id=str(entry.confirmation_id), nonce="", approve=approve, actor=actor, via="http")
        return check_entitlement(entry, decision, self.deps.catalogue)

    def find_user(self, key: str) -> int | None:
        """None without an id or without access."""
        person = self.deps.present(Actor(key=key, name=""))
        return person.bitrix_user_id if person is not None else None

    @property
    def _acting(self) -> Actor:
        return self.deps.approvers.apply_delegation(self.actor)

    def _may_see(self, before: Mapping[str, Any], user: int | None) -> bool:
        return self.is_lead and can_see_all(self._acting, before, self.deps.catalogue, asked_by=user)


def calculate_fingerprint(entry: Entry, *, tap: int = 1) -> str:
    """Sent back with a decision, it proves what was seen: card, call, values and `tap` (1 or 2)."""
    nonce = calculate_second_nonce(entry.nonce) if tap > 1 else entry.nonce
    seen = [entry.confirmation_id, nonce, entry.fingerprint, hash_text(dumps(entry.before or {}))]
    return hash_text(dumps(seen))


def find_tap(entry: Entry, presented: str) -> int:
    """1 or 2; 0 if it is no fingerprint of this card."""
    if not entry.has("nonce"):
        return 0
    taps = range(1, int(entry.taps or 1) + 1)
    return next(
        (tap for tap in taps if compare_digest(calculate_fingerprint(entry, tap=tap).encode(), presented.encode("utf-8", "replace"))), 0
    )


def find_nonce(entry: Entry, presented: str, *, approve: bool) -> str:
    """Empty if `presented` is no fingerprint of the card."""
    tap = find_tap(entry, presented)
    if not tap:
        return ""
    return calculate_second_nonce(entry.nonce) if tap > 1 and approve else str(entry.nonce)
