"""The groups of commands over the API's nouns, as `sdelka` has them."""

from bot.cli.nouns.commands import build_group

schedules = build_group("schedules")
