"""The marks of rows that came back with a backup: what they stand for may have happened since."""

SET_ASIDE = 1_000_000
"""An inbox row with more attempts than this was restored from a backup: it may have been handled since, and is not handled again."""
RESTORED_CARD = "came_back"
"""The key in the stored call of a restored card that holds the backup's time; the portal is checked before such a call runs."""
RESTORED = "restored"
"""The key of the value that describes the last restore as JSON: `made_at` of the backup, and `restored_at`."""
