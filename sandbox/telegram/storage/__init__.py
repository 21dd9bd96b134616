"""What the fake Telegram remembers: SQLite in the data folder, so that chats outlive a restart."""
