from state.events.base import Event


class BackupRestored(Event):
    """What happened since `made_at` is not in the journal."""

    backup: str
    made_at: str
    by: str
    cards: int = 0
    """Before their calls run, the portal is asked whether they ran."""
    unknown: int = 0
    """Nobody knows whether these calls ran."""
    set_aside: int = 0
    """Inbox rows that may have been handled, and so are not again."""
