"""The bot with the two example engines: `python -m examples.engines run` is `sdelka run` with the commands of definitions.yaml.

`python -m examples.engines definitions` is `sdelka definitions` for the kinds of these engines, and so are `runs` and `schedules`.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from typer import Typer

from bot.cli.nouns.commands import LoadEngines, build_definitions, build_group, build_runs
from bot.composition.process import import_telegram, run_bot
from bot.monitoring.logging_setup import configure_logging
from bot.settings.loading import load_settings
from examples.engines.definitions import load_engines
from orchestrator.domain.errors import SettingsError

_GROUPS: Final[Mapping[str, Callable[[LoadEngines], Typer]]] = {
    "definitions": build_definitions,
    "runs": build_runs,
    "schedules": partial(build_group, "schedules"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the bot until it is stopped, or a command about definitions, runs or schedules; return 2 if the settings are wrong."""
    parser = argparse.ArgumentParser(prog="examples.engines", description=__doc__)
    parser.add_argument("command", choices=["run", *_GROUPS])
    given = sys.argv[1:] if arguments is None else arguments
    asked = parser.parse_args(given[:1])
    try:
        if build := _GROUPS.get(asked.command):
            build(load_engines)(given[1:], prog_name=f"python -m examples.engines {asked.command}")
        settings = load_settings()
        configure_logging(settings.log_level, settings.log_format)
        import_telegram(settings)
        asyncio.run(run_bot(settings, engines=load_engines()))
    except SettingsError as error:
        sys.stderr.write(f"{error.reason}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
