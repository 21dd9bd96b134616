"""Journal events of moving the database to another place."""

from state.events.base import Event


class BackupRestored(Event):
    """The journal continues from a backup: what happened between `made_at` and this event is not in it."""

    backup: str
    """The id in the backup's manifest."""
    made_at: str
    by: str
    cards: int = 0
    """The number of cards that still wait; before such a call runs, the portal is checked for it."""
    unknown: int = 0
    """The number of calls that were approved or under way: nobody knows whether they ran."""
    set_aside: int = 0
    """The number of inputs that are not worked, because they may have been worked already."""
