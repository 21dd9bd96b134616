from pathlib import Path

from bot.cli.author.faces import TryOptions
from bot.cli.author.trying import try_file_or_key
from bot.cli.author.work import exit_unless
from bot.cli.options import Language


def run(flow: str, *, param: list[str] | None, answers: Path | None, version: int, language: Language, as_json: bool) -> None:
    options = TryOptions(params=tuple(param or ()), answers_file=answers, language=language, as_json=as_json)
    exit_unless(try_file_or_key("flow", flow, version, options))
