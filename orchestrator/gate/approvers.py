"""Who may decide for others: heads of sales, and who stands in for them. Ring 2; `orchestrator.leads` implements the port."""

from collections.abc import Callable, Sequence
from typing import Protocol

from orchestrator.messages import Actor

Sees = Callable[[Actor], bool]


class Approvers(Protocol):
    """Answers from memory, with the rights of this moment."""

    def find_leads(self, actor: Actor, sees: Sees) -> Sequence[Actor]:
        """The leads to whom a request of `actor` is shown: never the one who asks, and only who may see its records; may be nobody."""
        ...

    def apply_delegation(self, actor: Actor) -> Actor:
        """`actor` with the role and the sight of the lead for whom they stand in today; else unchanged."""
        ...


class NoLeads:
    """Nobody is known: cards stay in their own chat, where any lead may decide."""

    def find_leads(self, actor: Actor, sees: Sees) -> Sequence[Actor]:
        """Nobody."""
        del actor, sees
        return ()

    def apply_delegation(self, actor: Actor) -> Actor:
        """As they are."""
        return actor


def is_same_person(one: Actor, key: str, user: int | None) -> bool:
    """Whether `one` is the person with this key or, under another account, the same employee."""
    return one.key == key or (user is not None and one.bitrix_user_id == user)
