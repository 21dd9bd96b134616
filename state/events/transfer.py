"""What the journal holds of having been carried elsewhere. Ring 1."""

from state.events.core import Event


class BackupRestored(Event):
    """The journal goes on from a backup: what happened after `made_at` and before this is not in it."""

    backup: str
    """The id that the backup's manifest has."""
    made_at: str
    by: str
    cards: int = 0
    """Cards that still wait; what each would do is looked for in the portal before it is done."""
    unknown: int = 0
    """Calls that were approved or under way: nobody here knows whether they ran."""
    set_aside: int = 0
    """Inputs that are not worked, since they may have been."""
