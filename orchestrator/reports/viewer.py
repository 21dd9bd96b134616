"""Decides which cards and conversations a caller of the HTTP API, or a person in the console, may see and decide.

The gate checks every decision again.

A caller sees their own sessions. A lead (head of sales) or administrator also sees the cards and calls of people whose records they may
see. An administrator also sees the conversations of those people. Everything else is answered as if it did not exist.
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
    """The rights of one caller of the API, or of a person in the console."""

    actor: Actor
    deps: GateDeps

    def is_own(self, session: str) -> bool:
        """Return whether the session is one of the caller's own conversations.

        A token has many, whose keys begin with its own ("http:site:42"); a person's private chat has the person's key ("tg:1007").
        """
        return session == self.actor.key or session.startswith(f"{self.actor.key}:")

    def may_see_card(self, session: str, entry: Entry) -> bool:
        """Return whether the caller may know that the card exists.

        Whoever asked for a card may, wherever that was: in a group too. The card of a run (an execution of a scenario, flow or workflow)
        belongs to the person with whose rights the run works.
        """
        channel = session.partition(":")[0]
        if self.is_own(session) or (channel in CARD_CHANNELS and entry.requested_by == self.actor.key):
            return True
        by = entry.requested_by_user
        return channel in CARD_CHANNELS and self._may_see(entry.before or {}, by)

    def may_see_call(self, session: str, *, before: Mapping[str, Any], by: str, user: int | None) -> bool:
        """Return whether the caller may see a call.

        `before` holds the values of its records before the call. The call was requested by the person with key `by`, who is the employee
        `user` (None: not known).
        """
        return self.is_own(session) or by == self.actor.key or self._may_see(before, self.find_user(by) if user is None else user)

    def may_see_session(self, session: str) -> bool:
        """Return whether the caller may read the conversation.

        This is so for the person whose conversation it is, and for an administrator who may see that person's records. A lead (head of
        sales) may not read it, because conversations are private.
        """
        if self.is_own(session):
            return True
        if session.partition(":")[0] not in TALK_CHANNELS or self.actor.role != "admin":
            return False
        visible = find_visible_users(self._acting)
        return visible is None or self.find_user(session) in visible

    def may_see_run(self, owner: str, *, with_words: bool = False) -> bool:
        """Return whether the caller may know of a run that works with the rights of the person with the key `owner`.

        The owner may, and a lead (head of sales) or administrator who may see that person's records. With `with_words` the question is
        whether they may also read what the run asked, heard and made; of other people's runs only an administrator may.
        """
        if owner == self.actor.key:
            return True
        if not self.is_lead or (with_words and self.actor.role != "admin"):
            return False
        visible = find_visible_users(self._acting)
        return visible is None or self.find_user(owner) in visible

    @property
    def is_lead(self) -> bool:
        """Whether the caller is a lead (head of sales) or administrator, by their own role or by one delegated to them."""
        return self._acting.role in _DECIDING_ROLES

    def find_objection(self, entry: Entry, *, approve: bool) -> Notice | None:
        """Return the reason why the caller may not approve (or, without `approve`, deny) the card; None if they may."""
        own = self.actor.key == entry.requested_by
        actor = self.actor if own else self._acting
        decision = Decision(confirmation_id=str(entry.confirmation_id), nonce="", approve=approve, actor=actor, via="http")
        return check_entitlement(entry, decision, self.deps.catalogue)

    def find_user(self, key: str) -> int | None:
        """Return the Bitrix24 employee id of the person with the key `key` ("tg:1007"); None without an id or without access."""
        person = self.deps.present(Actor(key=key, name=""))
        return person.bitrix_user_id if person is not None else None

    @property
    def _acting(self) -> Actor:
        return self.deps.approvers.apply_delegation(self.actor)

    def _may_see(self, before: Mapping[str, Any], user: int | None) -> bool:
        return self.is_lead and can_see_all(self._acting, before, self.deps.catalogue, asked_by=user)


def calculate_fingerprint(entry: Entry, *, tap: int = 1) -> str:
    """Return a hash of the card as the caller sees it. The caller sends it back with the decision, which proves what they saw.

    The hash covers the card, the exact call and the values that it changes. It also covers `tap` (1 or 2), because some cards are approved
    with two taps.
    """
    nonce = calculate_second_nonce(entry.nonce) if tap > 1 else entry.nonce
    seen = [entry.confirmation_id, nonce, entry.fingerprint, hash_text(dumps(entry.before or {}))]
    return hash_text(dumps(seen))


def find_tap(entry: Entry, presented: str) -> int:
    """Return the number of the tap (1 or 2) that the fingerprint `presented` belongs to; 0 if it is no fingerprint of this card."""
    if not entry.has("nonce"):
        return 0
    taps = range(1, int(entry.taps or 1) + 1)
    return next(
        (tap for tap in taps if compare_digest(calculate_fingerprint(entry, tap=tap).encode(), presented.encode("utf-8", "replace"))), 0
    )


def find_nonce(entry: Entry, presented: str, *, approve: bool) -> str:
    """Return the one-time code (nonce) that the gate expects with this decision; "" if `presented` is no fingerprint of the card."""
    tap = find_tap(entry, presented)
    if not tap:
        return ""
    return calculate_second_nonce(entry.nonce) if tap > 1 and approve else str(entry.nonce)
