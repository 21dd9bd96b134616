"""The command `sdelka doctor`: reports what is missing or wrong in an installation, and how to fix it. It changes nothing.

Each area (settings, portal, model, Telegram, database …) has a module of its own.
"""

from bot.cli.doctor.command import app

__all__ = ["app"]
