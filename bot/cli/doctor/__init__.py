"""`sdelka doctor`: what is missing or wrong, and how to fix it. It changes nothing."""

from bot.cli.doctor.command import app

__all__ = ["app"]
