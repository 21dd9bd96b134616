"""The journal event of a restore from a backup."""

from state.events.base import Event


class BackupRestored(Event):
    """The journal continues from a backup: what happened between `made_at` and this event is not in it."""

    backup: str
    """The id of the backup, from its manifest."""
    made_at: str
    by: str
    cards: int = 0
    """The number of cards that still wait. Before the call of such a card runs, the portal is checked whether it has run already."""
    unknown: int = 0
    """The number of calls that were approved or under way: nobody knows whether they ran."""
    set_aside: int = 0
    """The number of inbox rows that are not handled, because they may have been handled since the backup."""
