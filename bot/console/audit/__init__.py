"""The search for calls, and why a call was made."""
