"""`sdelka workflow blocks` and `block`: what workflows did on a record."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bot.cli.author.trying import write_text
from bot.cli.inputs import format_time
from bot.cli.ops import escape_text, open_database_reader, write_json_lines, write_table
from bot.i18n.translate import Translator
from bot.rehearsing.words import cut_text
from engines.workflows.core.entities import find_field, find_field_name
from engines.workflows.core.kind import WORKFLOW
from orchestrator.domain.errors import SettingsError
from orchestrator.engines.shared.declared import RECORDS
from orchestrator.engines.shared.rendering import render_plain
from orchestrator.expressions.placeholders import format_value
from state.events.blocks import BlockOpened
from state.journal.definitions import find_version
from state.journal.record_blocks import RecordPlace, read_blocks
from state.journal.run_index import PREFIX, RunFilter
from state.model.definitions import DefinitionDamaged
from state.model.record_blocks import Block, find_block
from state.model.run_state import ENDED
from state.stored import JsonObject

if TYPE_CHECKING:
    from state.journal.store import Store

_LIST_COLUMNS: Final = ("block", "status", "workflow", "person", "begun", "ended", "changed")
_FIELD_COLUMNS: Final = ("field", "before", "proposed", "after")
_CONFLICT_COLUMNS: Final = ("field", "before", "now", "proposed", "chosen", "person")
_OPERATION_COLUMNS: Final = ("operation", "result", "why")
_MOST_CHANGES: Final = 3
_LONGEST_VALUE: Final = 30
_NOTHING: Final = "—"
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,14}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class FoundBlock:
    block: Block
    place: RecordPlace
    workflow: str
    """The key if the workflow has none."""
    is_over: bool

    @property
    def status(self) -> str:
        if self.block.is_dismissed:
            return "dismissed"
        return "over" if self.is_over and self.block.status in {"Loading", "Conflict"} else self.block.status

    @property
    def changed_fields(self) -> list[str]:
        before, after = self.block.input, self.block.post_user
        proposed = [find_field_name(after, key, self.place.kind) for key in self.block.post_ai]
        return list(dict.fromkeys([*(one for one in proposed if one), *(find_field_name(before, key) or key for key in after)]))


def write_blocks(record: str, tr: Translator, *, as_json: bool) -> None:
    """Oldest first. Raises SettingsError for a wrong record, or one without blocks."""
    place = read_place(record)
    with open_database_reader() as store:
        found_blocks = [_complete(store, place, block) for block in read_blocks(store, place)]
    if not found_blocks:
        raise SettingsError(escape_text(f"{record}: no workflow has worked on this record, or its blocks are older than a year"))
    if as_json:
        write_json_lines([_to_json(one) for one in found_blocks])
        return
    rows = [
        (
            one.block.run.rpartition("-")[2],
            tr.translate("workflow-cli-block-status", status=one.status),
            one.workflow,
            one.block.by,
            format_time(one.block.at),
            format_time(one.block.ended),
            _describe_change(one, tr),
        )
        for one in found_blocks
    ]
    write_table(_name_columns(_LIST_COLUMNS, tr), rows)


def write_block(block: str, tr: Translator, *, as_json: bool) -> None:
    """Raises SettingsError if there is none, or if several fit."""
    with open_database_reader() as store:
        place, block_id = _find_id(store, block.strip())
        known = find_block(read_blocks(store, place), block_id)
        if known is None:
            raise SettingsError(escape_text(f"the block {block_id} is not kept any more: it is older than a year, or others came after it"))
        found_block = _complete(store, place, known)
    if as_json:
        write_json_lines([{**_to_json(found_block), **_list_details(known)}])
        return
    _write_people(found_block, tr)


def read_place(text: str) -> RecordPlace:
    """Raises SettingsError."""
    kind, _, number = text.strip().partition(":")
    if kind not in RECORDS or _NUMBER.fullmatch(number) is None:
        kinds = ", ".join(sorted(RECORDS))
        raise SettingsError(escape_text(f"{text!r} is no record: write its kind and number, such as deal:481 (kinds: {kinds})"))
    return RecordPlace(kind, int(number))


def _find_id(store: "Store", text: str) -> tuple[RecordPlace, str]:
    """Read the id of a block, or a part of its run's id that only one block has."""
    kind, _, rest = text.partition(":")
    number, _, part = rest.rpartition(":")
    if ":" in text:
        if not part or not number:
            raise SettingsError(escape_text(f"{text!r} is no block: write the id of its run behind the record, such as deal:481:5f2c"))
        place = read_place(f"{kind}:{number}")
        ids = [block.id for block in read_blocks(store, place)]
    else:
        part, ids = text, list(_list_ids(store))
    runs = {one: one.split(":", 2)[2] for one in ids}
    fits = [one for one, run in runs.items() if run == part] or [
        one for one, run in runs.items() if part and (run.startswith(part) or run.endswith(part))
    ]
    if not fits:
        raise SettingsError(escape_text(f"there is no block {text!r}; `sdelka workflow blocks deal:481` lists those of a record"))
    if len(fits) > 1:
        more = " …" if len(fits) > 5 else ""  # noqa: PLR2004 - a line's worth
        raise SettingsError(escape_text(f"{text!r} may be {', '.join(fits[:5])}{more}: give more of it"))
    kind, number, _ = fits[0].split(":", 2)
    return read_place(f"{kind}:{number}"), fits[0]


def _list_ids(store: "Store") -> Iterator[str]:
    after = ""
    while page := store.scan_clear([BlockOpened.__name__], after):
        after = page[-1].id
        yield from (str(one.data["block"]) for one in page)


def _complete(store: "Store", place: RecordPlace, block: Block) -> FoundBlock:
    rows = store.list_runs(RunFilter(run_id=block.run.removeprefix(PREFIX)))
    is_over = all(row.status in ENDED for row in rows)
    return FoundBlock(block=block, place=place, workflow=_find_title(store, block), is_over=is_over)


def _find_title(store: "Store", block: Block) -> str:
    """The title in the version that ran; the key where that is gone, damaged, or has none."""
    try:
        version = find_version(store, WORKFLOW, block.definition, block.version) if block.version else None
    except DefinitionDamaged:
        version = None
    document: Any = version.document if version is not None else None
    metadata = document.get("metadata") if isinstance(document, dict) else None
    return str((metadata or {}).get("title") or block.definition)


def _describe_change(found_block: FoundBlock, tr: Translator) -> str:
    block = found_block.block
    if block.code:
        return block.code
    if block.is_erased and not block.post_user:
        return tr.translate("workflow-cli-block-erased")
    if block.status == "Conflict":
        return ", ".join(f"{one['key']}?" for one in block.conflict)
    lines = [
        f"{name}: {_write_value(find_field(block.input, name), most=_LONGEST_VALUE)} → "
        f"{_write_value(find_field(block.post_user, name), most=_LONGEST_VALUE)}"
        for name in found_block.changed_fields[:_MOST_CHANGES]
    ]
    more = len(found_block.changed_fields) - len(lines)
    return "; ".join([*lines, *([tr.translate("workflow-cli-block-more", count=more)] if more else [])]) or _NOTHING


def _write_people(found_block: FoundBlock, tr: Translator) -> None:
    block = found_block.block
    erased = tr.translate("workflow-cli-block-erased") if block.is_erased else ""
    fields = {
        "block": block.id,
        "record": block.title or erased or found_block.place.session.removeprefix("block:"),
        "status": tr.translate("workflow-cli-block-status", status=found_block.status) + (f" ({block.code})" if block.code else ""),
        "workflow": f"{found_block.workflow} ({block.definition}, {block.version})",
        "run": block.run,
        "person": block.by,
        "begun": format_time(block.at),
        "ended": format_time(block.ended) or _NOTHING,
        "parent": block.parent or _NOTHING,
    }
    write_table(_name_columns(("what", "is"), tr), [(tr.translate("workflow-cli-block", what=name), one) for name, one in fields.items()])
    if erased:
        write_text(f"\n{tr.translate('workflow-cli-block-erased-note')}")
    if block.raw_text:
        write_text(f"\n{cut_text(render_plain(block.raw_text))}")
    sections: dict[str, tuple[Sequence[str], list[Sequence[object]]]] = {
        "fields": (_FIELD_COLUMNS, _list_field_rows(found_block)),
        "conflicts": (_CONFLICT_COLUMNS, _list_conflict_rows(block, tr)),
        "operations": (_OPERATION_COLUMNS, _list_operation_rows(block, tr)),
    }
    for name, (columns, rows) in sections.items():
        if rows:
            write_text("")
            write_table(_name_columns(columns, tr), rows, title=tr.translate("workflow-cli-block-section", name=name))


def _list_field_rows(found_block: FoundBlock) -> list[Sequence[object]]:
    block = found_block.block
    kind = found_block.place.kind
    names = dict.fromkeys([*(find_field_name(block.input, key, kind) or key for key in block.post_ai), *found_block.changed_fields])
    after = {**block.input, **block.post_user}
    is_over = block.status == "Idle"
    return [
        (
            name,
            _write_value(find_field(block.input, name)),
            _write_value(find_field(block.post_ai, name, kind)) if find_field_name(block.post_ai, name, kind) else "",
            _write_value(find_field(after, name)) if is_over else "",
        )
        for name in names
    ]


def _list_conflict_rows(block: Block, tr: Translator) -> list[Sequence[object]]:
    return [
        (
            one["key"],
            *(_write_value(one[side]) for side in ("before", "person", "process")),
            tr.translate("workflow-cli-block-chosen", side=block.choices.get(one["key"], "none")),
            block.chosen_by.get(one["key"], ""),
        )
        for one in block.conflict
    ]


def _list_operation_rows(block: Block, tr: Translator) -> list[Sequence[object]]:
    return [
        (operation["operation"], tr.translate("workflow-cli-block-result", status=operation["status"]), operation.get("error", ""))
        for operation in block.operations
    ]


def _name_columns(names: Sequence[str], tr: Translator) -> list[str]:
    return [tr.translate("workflow-cli-block", what=name) for name in names]


def _write_value(value: object, *, most: int | None = None) -> str:
    text = _NOTHING if value in (None, "", [], {}) else cut_text(format_value(value))
    return text if most is None or len(text) <= most else f"{text[:most]}…"


def _to_json(found_block: FoundBlock) -> dict[str, object]:
    block = found_block.block
    return {
        "id": block.id,
        "record": f"{found_block.place.kind}:{found_block.place.number}",
        "status": block.status,
        "dismissed": block.is_dismissed,
        "run": block.run,
        "run_is_over": found_block.is_over,
        "workflow": block.definition,
        "version": block.version,
        "title": found_block.workflow,
        "person": block.by,
        "begun": block.at,
        "ended": block.ended,
        "parent": block.parent,
        "code": block.code,
        "erased": block.is_erased,
        "changed": {
            name: {"before": find_field(block.input, name), "after": find_field(block.post_user, name)}
            for name in found_block.changed_fields
        },
    }


def _list_details(block: Block) -> JsonObject:
    return {
        "record_title": block.title,
        "raw_text": block.raw_text,
        "origins": list(block.origins),
        "input": block.input,
        "post_ai": block.post_ai,
        "post_user": block.post_user,
        "conflicts": [
            {**one, "chosen": block.choices.get(one["key"], ""), "by": block.chosen_by.get(one["key"], "")} for one in block.conflict
        ],
        "operations": list(block.operations),
    }
