"""`sdelka doctor`: what is missing or wrong, and how to mend it. One file a party; `command` shows what they found. Ring 3; reads only."""

from bot.cli.doctor.command import app

__all__ = ["app"]
