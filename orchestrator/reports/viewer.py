"""Decides which cards and conversations a caller of the HTTP API may see and decide; the gate checks everything again.

A caller sees its own sessions; a lead or administrator also the cards and calls of people whose records it may see, an administrator
their conversations too. Everything else is treated as not existing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any, Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import TALK_CHANNELS
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.confirmations import Decision, calculate_second_nonce, can_see_all, check_entitlement
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.permissions import find_visible_users
from state.canonical import dumps, hash_text
from state.card import Card

Entry = Card
_DECIDING_ROLES: Final = frozenset({"lead", "admin"})


@dataclass(frozen=True, kw_only=True)
class Viewer:
    """The rights of one caller of the API."""

    actor: Actor
    deps: GateDeps

    def is_own(self, session: str) -> bool:
        """Return whether the session is one of the caller's own conversations."""
        return session.startswith(f"{self.actor.key}:")

    def may_see_card(self, session: str, entry: Entry) -> bool:
        """Return whether the caller may know that the card exists."""
        if self.is_own(session):
            return True
        by = entry.requested_by_user
        return session.partition(":")[0] in TALK_CHANNELS and self._may_see(entry.before or {}, by)

    def may_see_call(self, session: str, *, before: Mapping[str, Any], by: str, user: int | None) -> bool:
        """Return whether the caller may know of a call that `by` (employee `user`) requested."""
        return self.is_own(session) or by == self.actor.key or self._may_see(before, self.find_user(by) if user is None else user)

    def may_see_session(self, session: str) -> bool:
        """Return whether the caller may read the conversation.

        Its owner may, and an administrator who may see that person's records; a lead may not, since what people say there is private.
        """
        if self.is_own(session):
            return True
        if session.partition(":")[0] not in TALK_CHANNELS or self.actor.role != "admin":
            return False
        visible = find_visible_users(self._acting)
        return visible is None or self.find_user(session) in visible

    @property
    def is_lead(self) -> bool:
        """Whether the caller may see cards and calls of other people."""
        return self._acting.role in _DECIDING_ROLES

    def find_objection(self, entry: Entry, *, approve: bool) -> Notice | None:
        """Return why the caller may not approve or deny the card, None where they may."""
        own = self.actor.key == entry.requested_by
        actor = self.actor if own else self._acting
        decision = Decision(confirmation_id=str(entry.confirmation_id), nonce="", approve=approve, actor=actor, via="http")
        return check_entitlement(entry, decision, self.deps.catalogue)

    def find_user(self, key: str) -> int | None:
        """Return the employee id behind a key; None where there is none or the person no longer has access."""
        person = self.deps.present(Actor(key=key, name=""))
        return person.bitrix_user_id if person is not None else None

    @property
    def _acting(self) -> Actor:
        return self.deps.approvers.apply_delegation(self.actor)

    def _may_see(self, before: Mapping[str, Any], user: int | None) -> bool:
        return self.is_lead and can_see_all(self._acting, before, self.deps.catalogue, asked_by=user)


def calculate_fingerprint(entry: Entry, *, tap: int = 1) -> str:
    """Return the proof of what a caller has seen: the exact call, the values it changes, this card, and which of two taps."""
    nonce = calculate_second_nonce(entry.nonce) if tap > 1 else entry.nonce
    seen = [entry.confirmation_id, nonce, entry.fingerprint, hash_text(dumps(entry.before or {}))]
    return hash_text(dumps(seen))


def find_tap(entry: Entry, presented: str) -> int:
    """Return the tap that the presented fingerprint belongs to; 0 if it is none of this card's."""
    if not entry.has("nonce"):
        return 0
    taps = range(1, int(entry.taps or 1) + 1)
    return next(
        (tap for tap in taps if compare_digest(calculate_fingerprint(entry, tap=tap).encode(), presented.encode("utf-8", "replace"))), 0
    )


def find_nonce(entry: Entry, presented: str, *, approve: bool) -> str:
    """Return the nonce that the gate expects for the presented fingerprint; "", which fits no card, if it is not this card's."""
    tap = find_tap(entry, presented)
    if not tap:
        return ""
    return calculate_second_nonce(entry.nonce) if tap > 1 and approve else str(entry.nonce)
