"""Marks of rows that a backup brought back: they may have been handled since."""

SET_ASIDE = 1_000_000
"""More attempts than this: restored, and not handled again."""
RESTORED_CARD = "came_back"
"""Key of the backup's time in a restored card's call; the portal is checked before it runs."""
RESTORED = "restored"
"""Key of JSON with `made_at` of the backup and `restored_at`."""
