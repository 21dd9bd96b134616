"""What a page of the console is: its address, who may see it, and the function that draws it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.console.visit import Visit
from orchestrator.domain.actor import Role


@dataclass(frozen=True, kw_only=True)
class PageSpec:
    """One page. Its title is the text `console-<name>`."""

    name: str
    path: str
    """Its address below /console; a part in braces is given to the page in `Visit.params`."""
    show: Callable[[Visit], Awaitable[None]]
    """Draws the page. It may raise ApiError for something that does not exist, or that the person may not see, and StoreError."""
    icon: str = ""
    """The icon of its line in the navigation; "" for a page that other pages lead to."""
    section: str = ""
    """The name of the page whose line in the navigation is marked while this one is shown; its own by default."""
    roles: tuple[Role, ...] = ()
    """Who may see it; empty for everybody who may use the bot. What is shown in it depends on the person, as everywhere."""
