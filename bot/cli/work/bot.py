import asyncio
import gc

from bot.cli.options import Language
from bot.monitoring.logging_setup import configure_logging
from bot.settings.loading import load_settings


def run() -> None:
    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)
    gc.disable()  # imported objects stay alive: collecting garbage among them takes a tenth of the start-up time
    from bot.composition.process import import_telegram, run_bot  # noqa: PLC0415 - takes seconds, and a wrong setting is told at once
    from bot.plugins.building import load_installed_engines  # noqa: PLC0415 - as above

    import_telegram(settings)
    load_installed_engines()
    gc.freeze()
    gc.enable()
    asyncio.run(run_bot(settings))


def chat(name: str, user: int | None, language: Language) -> None:
    settings = load_settings()
    configure_logging("ERROR")
    from bot.cli.chat import run_chat  # noqa: PLC0415 - as in run

    asyncio.run(run_chat(settings, name=name, user=user, language=language))
