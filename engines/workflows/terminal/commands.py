"""What only `sdelka workflow` does; above all the order of the tuums, and what they exchange."""

from pathlib import Path
from typing import Final

import typer

from bot.cli.author.faces import Family, TryOptions
from bot.cli.author.files import load_file
from bot.cli.author.trying import try_path
from bot.cli.author.work import exit_unless, load_translator
from bot.cli.author.writing import write_checked
from bot.cli.ops import escape_text, write_json_lines, write_table
from bot.cli.options import Language
from bot.i18n.translate import Translator
from engines.workflows.cases import build, compile_playable
from engines.workflows.core.compile import CompiledTuum, CompiledWorkflow
from engines.workflows.core.kind import TUUM, WORKFLOW, list_tuums
from engines.workflows.terminal.blocks import write_block, write_blocks

FAMILY: Final = Family(
    whole=WORKFLOW,
    part=TUUM,
    key_field="workflowId",
    part_key_field="tuumId",
    folder="tuums",
    is_part=lambda data: "tuumId" in data and "tuums" not in data,
    list_parts=list_tuums,
    part_refusal="it has its order in each workflow that names it",
)


_COLUMNS: Final = ("level", "tuum", "after", "takes", "publishes")


def write_order(file: Path, tr: Translator, *, as_json: bool) -> bool:
    """Write the tuums by their levels and the mistakes; return whether there are none. Raises SettingsError."""
    loaded = load_file(FAMILY, file)
    faulty = loaded.wrong or loaded.files[0]
    if faulty.findings:
        write_checked(faulty, tr, as_json=as_json)
    if loaded.wrong is not None:
        return False
    compiled = compile_playable(build(loaded.key, loaded.document, loaded.parts))
    ordered = [compiled.tuums[position] for level in compiled.levels for position in level]
    if as_json:
        write_json_lines([_to_json(compiled, tuum) for tuum in ordered])
        return True
    typer.echo(escape_text(tr.translate("workflow-cli-order", count=len(ordered), levels=len(compiled.levels))))
    rows = [
        (
            str(one.level + 1),
            one.id,
            ", ".join(_list_sources(compiled, one)),
            ", ".join(
                [*(_name_variable(*pair) for pair in one.inputs.items()), *(_name_variable(*pair, "?") for pair in one.reads.items())]
            ),
            ", ".join(_name_variable(local, name) for name, local in one.outputs.items()),
        )
        for one in ordered
    ]
    write_table([tr.translate("workflow-cli-column", column=name) for name in _COLUMNS], rows)
    return True


def _list_sources(compiled: CompiledWorkflow, tuum: CompiledTuum) -> list[str]:
    return [compiled.tuums[position].id for position in tuum.needs]


def _name_variable(local: str, name: str, mark: str = "") -> str:
    """Global, the local behind it if it is called otherwise, and `?` for an optional one."""
    return f"{name}{mark}" if local == name else f"{name}{mark} ({local})"


def _to_json(compiled: CompiledWorkflow, tuum: CompiledTuum) -> dict[str, object]:
    return {
        "tuum": tuum.id,
        "level": tuum.level,
        "index": tuum.index,
        "after": _list_sources(compiled, tuum),
        "inputs": dict(tuum.inputs),
        "reads": dict(tuum.reads),
        "outputs": dict(tuum.outputs),
    }


def compile_file(file: Path, *, language: Language, as_json: bool) -> None:
    exit_unless(write_order(file, load_translator(language), as_json=as_json))


def run(file: Path, *, param: list[str] | None, answers: Path | None, queries: Path | None, language: Language, as_json: bool) -> None:
    options = TryOptions(params=tuple(param or ()), answers_file=answers, queries_file=queries, language=language, as_json=as_json)
    exit_unless(try_path("workflow", file, options))


def blocks(record: str, *, language: Language, as_json: bool) -> None:
    write_blocks(record, load_translator(language), as_json=as_json)


def block(block_id: str, *, language: Language, as_json: bool) -> None:
    write_block(block_id, load_translator(language), as_json=as_json)
