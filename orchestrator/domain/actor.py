"""Who acts, and the safety modes (how far the program may go: "shadow" only plans writes)."""

from typing import Literal

from orchestrator.domain.frozen import Frozen

Mode = Literal["shadow", "canary", "full"]


Role = Literal["manager", "lead", "admin"]


MODES: tuple[Mode, ...] = ("shadow", "canary", "full")


class Actor(Frozen):
    """Whoever a request is made for: a person of the access file, a named HTTP token, or the local user of the command line.

    `sees` limits whose records the actor may touch: the actor's own, all, or those of the listed users of the portal. `max_mode` is the
    highest safety mode the actor may use.
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
