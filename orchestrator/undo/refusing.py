"""Why something is not taken back, said with the field, what stands there now, and who was last at the record. Ring 2; reads names only."""

from orchestrator.gate.criticals import to_field_code
from orchestrator.gate.overtaken import build_last_editor_args, find_last_editor
from orchestrator.gate.overtaken import format_field_value as value_in_words
from orchestrator.gate.preview import Names
from orchestrator.gate.shown import Reader
from orchestrator.messages import Actor, Notice
from orchestrator.undo.restoring import Conflict, Records


async def describe_conflict(conflict: Conflict, records: Records, actor: Actor, names: Names) -> Notice:
    """The sentence about the first of the fields, with how many others there are. Names that cannot be read are left out."""
    first = conflict.fields[0]
    record = records.get(first.part.target) or {}
    reader = Reader(names=names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)
    args = {
        "field": to_field_code(first.part.call, first.name),
        "now": await value_in_words(first.part.call, first.name, first.now, record, reader),
        "more": len(conflict.fields) - 1,
        "others": ", ".join(to_field_code(one.part.call, one.name) for one in conflict.fields[1:]),
        **build_last_editor_args(await find_last_editor(record, names)),
        "id": first.part.target[1],
    }
    return Notice(code="undo-changed", args=args)
