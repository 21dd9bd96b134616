"""The actor (who makes a request) and the safety modes, which limit what the program may do: in "shadow" mode it only plans writes."""

from typing import Literal

from orchestrator.domain.frozen import Frozen

Mode = Literal["shadow", "canary", "full"]


Role = Literal["manager", "lead", "admin"]


MODES: tuple[Mode, ...] = ("shadow", "canary", "full")


class Actor(Frozen):
    """The person or program that makes a request: a person of the access file, a named HTTP token, or the local user of the command line.

    `sees` limits the records that the actor may read and change: "own" means the records for which the actor is responsible, "all" means
    all, and a tuple of employee ids means the records of these employees and the actor's own. `max_mode` is the highest safety mode the
    actor may use.
    """

    key: str
    name: str
    role: Role = "manager"
    max_mode: Mode = "full"
    sees: Literal["own", "all"] | tuple[int, ...] = "own"
    bitrix_user_id: int | None = None
    time_zone: str = "Europe/Moscow"
    locale: Literal["ru", "en"] = "ru"
    may_approve: bool = True
    for_customers: bool = False
    """Whether it is a token that passes on what customers write: it starts only what is marked for them, and all that it changes asks."""


def is_same_person(actor: Actor, key: str, user: int | None) -> bool:
    """Return whether `actor` and the person with the account key `key` and the employee id `user` are the same person.

    They are if the keys are equal, or if both accounts belong to the same employee.
    """
    return actor.key == key or (user is not None and actor.bitrix_user_id == user)
