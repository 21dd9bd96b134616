from pathlib import Path
from typing import Final

import typer

from bot.cli.author.faces import TryOptions
from bot.cli.author.group import KindWords
from bot.cli.author.testing import play_tests, save_run
from bot.cli.author.trying import try_file_or_key
from bot.cli.author.writing import check_files, draw_file, publish_files, write_difference, write_first, write_publication
from bot.cli.options import Language
from bot.i18n.translate import Translator

_NOT_DONE: Final = 1


def load_translator(language: Language) -> Translator:
    return Translator(language, "Europe/Moscow")


def exit_unless(is_done: bool) -> None:  # noqa: FBT001 - what the command has come to
    """Exits with code 1."""
    if not is_done:
        raise typer.Exit(_NOT_DONE)


def validate(words: KindWords, files: list[Path], *, language: Language, as_json: bool) -> None:
    exit_unless(check_files(words.kind, files, load_translator(language), as_json=as_json))


def publish(words: KindWords, file: Path, *, parts: list[Path] | None, note: str, language: Language, as_json: bool) -> None:
    publication = publish_files(words.kind, file, parts or [], note=note)
    write_publication(publication, load_translator(language), as_json=as_json)
    exit_unless(publication.is_done)


def diff(words: KindWords, key: str, before: int, after: int, *, language: Language, as_json: bool) -> None:
    write_difference(words.kind, key, (before, after), load_translator(language), as_json=as_json)


def graph(words: KindWords, file: Path, *, svg: Path | None, language: Language) -> None:
    tr = load_translator(language)
    draw_file(words.kind, file, svg, lambda path, count: tr.translate("author-drawn", file=str(path), count=count))


def test(words: KindWords, path: Path, *, as_json: bool) -> None:
    exit_unless(play_tests(words.kind, path, as_json=as_json))


def record(words: KindWords, run_id: str, *, out: Path) -> None:
    exit_unless(save_run(words.kind, run_id, out, words.test_command))


def new(words: KindWords, file: Path, *, language: Language) -> None:
    write_first(words.kind, file, load_translator(language))


def try_out(  # noqa: PLR0913 - one parameter for each option of the command
    words: KindWords,
    definition: str,
    *,
    param: list[str] | None,
    typed: list[str] | None,
    inputs: Path | None,
    answers: Path | None,
    queries: Path | None,
    model: bool,
    version: int,
    language: Language,
    as_json: bool,
) -> None:
    options = TryOptions(
        params=tuple(param or ()),
        inputs=tuple(typed or ()),
        inputs_file=inputs,
        answers_file=answers,
        queries_file=queries,
        asks_model=model,
        language=language,
        as_json=as_json,
    )
    exit_unless(try_file_or_key(words.kind, definition, version, options))
