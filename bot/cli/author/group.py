"""The commands of one kind of definitions, such as `sdelka flow`."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli import options
from bot.cli.deferred import defer
from bot.cli.options import AS_JSON

_WORK: Final = "bot.cli.author.work"
Json = Annotated[bool, typer.Option("--json", help=AS_JSON)]
Events = Annotated[bool, typer.Option("--json", help="One event a line as JSON.")]
Language = Annotated[options.Language, typer.Option(help="The language in which people are told.")]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="OUT", help="Write a picture to this file in place of Mermaid to stdout.")]
Command = Callable[..., None]


@dataclass(frozen=True, kw_only=True)
class KindWords:
    kind: str
    part: str = ""
    """"" for none."""
    test_command: str

    @property
    def a_kind(self) -> str:
        """At the beginning of a sentence."""
        return _add_article(self.kind)


def hide_log_lines() -> None:
    """For commands that say themselves what happened; Python would write them to stderr."""
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(logging.NullHandler())


def build_author_group(kind: str, summary: str, commands: Mapping[str, str | Command], *, part: str = "") -> typer.Typer:
    """In this order; `part` is the kind of its parts."""
    words = KindWords(kind=kind, part=part, test_command=f"sdelka {kind} test")
    app = typer.Typer(no_args_is_help=True, add_completion=False, help=summary)
    app.callback(help=summary)(hide_log_lines)
    for name, command in commands.items():
        if isinstance(command, str):
            app.command(name, help=command)(BUILDERS[name](words))
        else:
            app.command(name)(command)
    return app


def _add_article(noun: str) -> str:
    return f"{'An' if noun[:1] in 'aeiou' else 'A'} {noun}"


def _build_validate(words: KindWords) -> Command:
    kinds = f"{words.kind.capitalize()}s{f' and {words.part}s' if words.part else ''}"

    def validate(
        files: Annotated[list[Path], typer.Argument(metavar="FILE…", help=f"{kinds} as YAML or JSON, or folders of them.")],
        *,
        language: Language = "ru",
        as_json: Json = False,
    ) -> None: ...

    return defer(_WORK, words)(validate)


def _build_publish(words: KindWords) -> Command:
    def publish(
        file: Annotated[Path, typer.Argument(metavar="FILE", help=f"{words.a_kind} as YAML or JSON.")],
        *,
        parts: Annotated[
            list[Path] | None,
            typer.Option(f"--{words.part}", metavar="FILE", help=f"{_add_article(words.part)} to publish before it; may be given again."),
        ] = None,
        note: Annotated[str, typer.Option(help="What has changed and why, for the history.")] = "",
        language: Language = "ru",
        as_json: Json = False,
    ) -> None: ...

    return defer(_WORK, words)(publish)


def _build_diff(words: KindWords) -> Command:
    def diff(
        key: Annotated[str, typer.Argument(help=f"The key of {words.a_kind.lower()}.")],
        before: Annotated[int, typer.Argument(metavar="V1", min=1, help="The version from which.")],
        after: Annotated[int, typer.Argument(metavar="V2", min=1, help="The version to which.")],
        *,
        language: Language = "ru",
        as_json: Json = False,
    ) -> None: ...

    return defer(_WORK, words)(diff)


def _build_graph(words: KindWords) -> Command:
    def graph(
        file: Annotated[Path, typer.Argument(metavar="FILE", help=f"{words.a_kind} as YAML or JSON.")],
        *,
        svg: Svg = None,
        language: Language = "ru",
    ) -> None: ...

    return defer(_WORK, words)(graph)


def _build_test(words: KindWords) -> Command:
    def test(
        path: Annotated[
            Path,
            typer.Argument(metavar="FILE|DIR", help=f"{words.a_kind} with NAME.test.yaml beside it, or a folder of them."),
        ],
        *,
        as_json: Json = False,
    ) -> None: ...

    return defer(_WORK, words)(test)


def _build_record(words: KindWords) -> Command:
    def record(
        run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="The run's id, or a part of it that only one run has.")],
        *,
        out: Annotated[Path, typer.Option(metavar="FILE", help=f"The new file, such as NAME.test.yaml beside the {words.kind}.")],
    ) -> None: ...

    return defer(_WORK, words)(record)


def _build_new(words: KindWords) -> Command:
    def new(
        file: Annotated[Path, typer.Argument(metavar="FILE", help="The new file, such as first.yaml; an existing one is not overwritten.")],
        *,
        language: Language = "ru",
    ) -> None: ...

    return defer(_WORK, words)(new)


def _build_try(words: KindWords) -> Command:
    def try_out(  # noqa: PLR0913 - one parameter for each option of the command
        definition: Annotated[
            str, typer.Argument(metavar="FILE|KEY", help=f"A file of {words.a_kind.lower()}, or the key of a published one.")
        ],
        *,
        param: Annotated[list[str] | None, typer.Option(help="A value of its start such as client=Romashka; may be given again.")] = None,
        typed: Annotated[list[str] | None, typer.Option("--input", help="An answer, in order; may be given again.")] = None,
        inputs: Annotated[Path | None, typer.Option(metavar="FILE", help="A YAML file of answers, or of all that a test says.")] = None,
        answers: Annotated[Path | None, typer.Option(metavar="FILE", help="A YAML file of models' answers; no model is asked.")] = None,
        queries: Annotated[Path | None, typer.Option(metavar="FILE", help="A YAML file of what the portal gives, by method.")] = None,
        model: Annotated[bool, typer.Option("--model", help="Ask the model where its words would be asked for here; it costs.")] = False,
        version: Annotated[int, typer.Option(min=0, help="A version of the published one; by default the active one.")] = 0,
        language: Language = "ru",
        as_json: Events = False,
    ) -> None: ...

    return defer(_WORK, words)(try_out)


BUILDERS: Final[Mapping[str, Callable[[KindWords], Command]]] = {
    "new": _build_new,
    "validate": _build_validate,
    "check": _build_validate,
    "publish": _build_publish,
    "diff": _build_diff,
    "graph": _build_graph,
    "draw": _build_graph,
    "try": _build_try,
    "test": _build_test,
    "record": _build_record,
}
"""By the names that they have in groups."""
