"""The storage of the fake Telegram: SQLite in the data folder, so that chats survive a restart."""
