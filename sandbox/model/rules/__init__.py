"""The rules of the demo model by theme: each module defines handlers, and `book` matches them. No rule sees the portal."""
