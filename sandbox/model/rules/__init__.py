"""The rules of the demo model by theme: each module gives its handlers, `book` matches them. No rule sees the portal."""
