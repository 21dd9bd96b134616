"""Why something is not taken back, said with the field, what stands there now, and who was last at the record. Ring 2; reads names only."""

from orchestrator.gate.criticals import code_of
from orchestrator.gate.overtaken import in_words as value_in_words
from orchestrator.gate.overtaken import last_hand, who_was_last
from orchestrator.gate.preview import Names
from orchestrator.gate.shown import Reader
from orchestrator.messages import Actor, Notice
from orchestrator.undo.restoring import Conflict, Records


async def in_words(conflict: Conflict, records: Records, actor: Actor, names: Names) -> Notice:
    """The sentence about the first of the fields, with how many others there are. Names that cannot be read are left out."""
    first = conflict.fields[0]
    record = records.get(first.part.target) or {}
    reader = Reader(names=names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)
    args = {
        "field": code_of(first.part.call, first.name),
        "now": await value_in_words(first.part.call, first.name, first.now, record, reader),
        "more": len(conflict.fields) - 1,
        "others": ", ".join(code_of(one.part.call, one.name) for one in conflict.fields[1:]),
        **who_was_last(await last_hand(record, names)),
        "id": first.part.target[1],
    }
    return Notice(code="undo-changed", args=args)
