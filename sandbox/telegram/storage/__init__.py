"""The storage of the fake Telegram: a SQLite database in the data folder, so that chats survive a restart."""
