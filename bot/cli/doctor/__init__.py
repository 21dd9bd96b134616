"""The command `sdelka doctor`: what is missing or wrong, and how to fix it. One module per party checks it and changes nothing."""

from bot.cli.doctor.command import app

__all__ = ["app"]
