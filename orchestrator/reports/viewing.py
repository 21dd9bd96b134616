"""What of the cards and conversations a caller of the HTTP API may see, and decide. Ring 2, pure; the gate asks all of it anew.

Sees its own sessions; a lead or administrator also the cards and calls of people whose records it may see, an administrator their
conversations too. Whatever else there is, is not there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any, Final

from orchestrator.gate.confirmations import Decision, not_entitled, second_nonce, sees_all
from orchestrator.gate.means import Means
from orchestrator.gate.rights import visible_users
from orchestrator.messages import Actor, Notice
from state.canonical import dumps, sha256

Entry = Mapping[str, Any]
PERSONS: Final = ("tg", "http", "cli")
"""Channels in which somebody talks; other sessions are the program's own, and nobody's to read."""
_DECIDE: Final = frozenset({"lead", "admin"})


@dataclass(frozen=True, kw_only=True)
class Viewer:
    """One caller before one gate."""

    actor: Actor
    means: Means

    def owns(self, session: str) -> bool:
        """Whether the session is one of this caller's own conversations."""
        return session.startswith(f"{self.actor.key}:")

    def sees_card(self, session: str, entry: Entry) -> bool:
        """Whether the caller may know of that card at all."""
        if self.owns(session):
            return True
        by = entry.get("requested_by_user")
        return session.partition(":")[0] in PERSONS and self._sees(entry.get("before") or {}, by)

    def sees_call(self, session: str, *, before: Mapping[str, Any], by: str, user: int | None) -> bool:
        """Whether the caller may know of a call that `by`, employee `user`, asked for."""
        return self.owns(session) or by == self.actor.key or self._sees(before, self.user_of(by) if user is None else user)

    def sees_session(self, session: str) -> bool:
        """Whether the caller may read that conversation: what people say in private is nobody's business who merely leads."""
        if self.owns(session):
            return True
        if session.partition(":")[0] not in PERSONS or self.actor.role != "admin":
            return False
        visible = visible_users(self._acting)
        return visible is None or self.user_of(session) in visible

    @property
    def is_lead(self) -> bool:
        """Whether the caller may look beyond what is its own."""
        return self._acting.role in _DECIDE

    def objection(self, entry: Entry, *, approve: bool) -> Notice | None:
        """Why the caller may not decide that card in this way, None where they may."""
        own = self.actor.key == entry.get("requested_by")
        actor = self.actor if own else self._acting
        decision = Decision(confirmation_id=str(entry.get("confirmation_id")), nonce="", approve=approve, actor=actor, via="http")
        return not_entitled(entry, decision, self.means.catalogue)

    def user_of(self, key: str) -> int | None:
        """The employee behind a key, None where it stands for none or for nobody any more."""
        person = self.means.present(Actor(key=key, name=""))
        return person.bitrix_user_id if person is not None else None

    @property
    def _acting(self) -> Actor:
        return self.means.approvers.acting(self.actor)

    def _sees(self, before: Mapping[str, Any], user: int | None) -> bool:
        return self.is_lead and sees_all(self._acting, before, self.means.catalogue, asked_by=user)


def fingerprint(entry: Entry, *, tap: int = 1) -> str:
    """What a caller proves to have seen: the very call, the values it changes, this card of it, and which of two confirmations."""
    nonce = second_nonce(entry["nonce"]) if tap > 1 else entry["nonce"]
    seen = [entry["confirmation_id"], nonce, entry["fingerprint"], sha256(dumps(entry.get("before") or {}))]
    return sha256(dumps(seen))


def tap_of(entry: Entry, presented: str) -> int:
    """Which tap the fingerprint belongs to; 0 for none of this card."""
    if "nonce" not in entry:
        return 0
    taps = range(1, int(entry.get("taps") or 1) + 1)
    return next((tap for tap in taps if compare_digest(fingerprint(entry, tap=tap).encode(), presented.encode("utf-8", "replace"))), 0)


def nonce_of(entry: Entry, presented: str, *, approve: bool) -> str:
    """The nonce that the gate wants for it; for a fingerprint of something else one that fits no card."""
    tap = tap_of(entry, presented)
    if not tap:
        return ""
    return second_nonce(entry["nonce"]) if tap > 1 and approve else str(entry["nonce"])
