"""What only `sdelka workflow` does."""

from pathlib import Path

from bot.cli.author.faces import TryOptions
from bot.cli.author.trying import try_path
from bot.cli.author.work import exit_unless, load_translator
from bot.cli.options import Language
from engines.workflows.terminal.blocks import write_block, write_blocks
from engines.workflows.terminal.compiling import write_order


def compile_file(file: Path, *, language: Language, as_json: bool) -> None:
    exit_unless(write_order(file, load_translator(language), as_json=as_json))


def run(file: Path, *, param: list[str] | None, answers: Path | None, queries: Path | None, language: Language, as_json: bool) -> None:
    options = TryOptions(params=tuple(param or ()), answers_file=answers, queries_file=queries, language=language, as_json=as_json)
    exit_unless(try_path("workflow", file, options))


def blocks(record: str, *, language: Language, as_json: bool) -> None:
    write_blocks(record, load_translator(language), as_json=as_json)


def block(block_id: str, *, language: Language, as_json: bool) -> None:
    write_block(block_id, load_translator(language), as_json=as_json)
