"""What of the cards and conversations a caller of the HTTP API may see, and decide. Ring 2, pure; the gate asks all of it anew.

Sees its own sessions; a lead or administrator also the cards and calls of people whose records it may see, an administrator their
conversations too. Whatever else there is, is not there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any, Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.confirmations import Decision, calculate_second_nonce, can_see_all, check_entitlement
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.permissions import find_visible_users
from state.canonical import dumps, hash_text

Entry = Mapping[str, Any]
CHAT_CHANNELS: Final = ("tg", "http", "cli")
"""Channels in which somebody talks; other sessions are the program's own, and nobody's to read."""
_DECIDING_ROLES: Final = frozenset({"lead", "admin"})


@dataclass(frozen=True, kw_only=True)
class Viewer:
    """One caller before one gate."""

    actor: Actor
    deps: GateDeps

    def is_own(self, session: str) -> bool:
        """Whether the session is one of this caller's own conversations."""
        return session.startswith(f"{self.actor.key}:")

    def may_see_card(self, session: str, entry: Entry) -> bool:
        """Whether the caller may know of that card at all."""
        if self.is_own(session):
            return True
        by = entry.get("requested_by_user")
        return session.partition(":")[0] in CHAT_CHANNELS and self._may_see(entry.get("before") or {}, by)

    def may_see_call(self, session: str, *, before: Mapping[str, Any], by: str, user: int | None) -> bool:
        """Whether the caller may know of a call that `by`, employee `user`, asked for."""
        return self.is_own(session) or by == self.actor.key or self._may_see(before, self.find_user(by) if user is None else user)

    def may_see_session(self, session: str) -> bool:
        """Whether the caller may read that conversation: what people say in private is nobody's business who merely leads."""
        if self.is_own(session):
            return True
        if session.partition(":")[0] not in CHAT_CHANNELS or self.actor.role != "admin":
            return False
        visible = find_visible_users(self._acting)
        return visible is None or self.find_user(session) in visible

    @property
    def is_lead(self) -> bool:
        """Whether the caller may look beyond what is its own."""
        return self._acting.role in _DECIDING_ROLES

    def find_objection(self, entry: Entry, *, approve: bool) -> Notice | None:
        """Why the caller may not decide that card in this way, None where they may."""
        own = self.actor.key == entry.get("requested_by")
        actor = self.actor if own else self._acting
        decision = Decision(confirmation_id=str(entry.get("confirmation_id")), nonce="", approve=approve, actor=actor, via="http")
        return check_entitlement(entry, decision, self.deps.catalogue)

    def find_user(self, key: str) -> int | None:
        """The employee behind a key, None where it stands for none or for nobody any more."""
        person = self.deps.present(Actor(key=key, name=""))
        return person.bitrix_user_id if person is not None else None

    @property
    def _acting(self) -> Actor:
        return self.deps.approvers.apply_delegation(self.actor)

    def _may_see(self, before: Mapping[str, Any], user: int | None) -> bool:
        return self.is_lead and can_see_all(self._acting, before, self.deps.catalogue, asked_by=user)


def calculate_fingerprint(entry: Entry, *, tap: int = 1) -> str:
    """What a caller proves to have seen: the very call, the values it changes, this card of it, and which of two confirmations."""
    nonce = calculate_second_nonce(entry["nonce"]) if tap > 1 else entry["nonce"]
    seen = [entry["confirmation_id"], nonce, entry["fingerprint"], hash_text(dumps(entry.get("before") or {}))]
    return hash_text(dumps(seen))


def find_tap(entry: Entry, presented: str) -> int:
    """Which tap the fingerprint belongs to; 0 for none of this card."""
    if "nonce" not in entry:
        return 0
    taps = range(1, int(entry.get("taps") or 1) + 1)
    return next(
        (tap for tap in taps if compare_digest(calculate_fingerprint(entry, tap=tap).encode(), presented.encode("utf-8", "replace"))), 0
    )


def find_nonce(entry: Entry, presented: str, *, approve: bool) -> str:
    """The nonce that the gate wants for it; for a fingerprint of something else one that fits no card."""
    tap = find_tap(entry, presented)
    if not tap:
        return ""
    return calculate_second_nonce(entry["nonce"]) if tap > 1 and approve else str(entry["nonce"])
