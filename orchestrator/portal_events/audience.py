"""Who is told of changes in the portal: a port that the access list of the doors implements. Ring 2."""

from collections.abc import Callable, Sequence
from typing import Protocol

from orchestrator.messages import Actor


class Audience(Protocol):
    """Who wants to be told of changes of their own records."""

    def find_subscribers(self, user_id: int) -> Sequence[Actor]:
        """Those who are this employee."""
        ...

    def list_watched_users(self) -> Sequence[int]:
        """The employees that anybody is."""
        ...


class Nobody:
    """An audience without people."""

    def find_subscribers(self, user_id: int) -> Sequence[Actor]:
        """Nobody is this employee."""
        del user_id
        return ()

    def list_watched_users(self) -> Sequence[int]:
        """No employee."""
        return ()


RefreshActor = Callable[[Actor], Actor | None]
"""The rights that somebody has now, None for those who have none any more."""
