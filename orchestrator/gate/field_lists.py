"""Which of the portal's lists of fields a call is checked against, and the reading of them. Ring 2; never writes, never fails a call.

A list that cannot be read checks nothing: the portal still leaves out what it does not know, and the read back says what it left out.
"""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from bitrix.errors import BitrixError
from bitrix.names import CRM
from orchestrator.directory.reference_data import Field
from orchestrator.gate import filters
from orchestrator.gate.effects import Call
from orchestrator.gate.ports import FieldLists

log = logging.getLogger(__name__)

_WRITES = frozenset({"add", "update"})


def find_list_name(call: Call) -> str:
    """ "deal", "item:2", "task": the list that holds the names this call may use; "" for calls that are not checked."""
    family, _, verb = call.method.rpartition(".")
    if family == "crm.item" and verb in _WRITES:
        return f"item:{call.params.get('entityTypeId')}"
    if call.method in {"tasks.task.add", "tasks.task.update"}:
        return "task"
    kind = call.spec.entity
    return kind if kind in CRM.values() and family == f"crm.{kind}" and verb in {*_WRITES, "list"} else ""


def extract_checked_names(call: Call) -> Mapping[str, Any]:
    """The names that are checked: what a write sets besides the system's own, what the filter of a list asks for."""
    if call.reads_only:
        return filters.extract_conditions(call.params.get("filter")) if call.spec.verb == "list" else {}
    written = call.params.get(call.spec.fields_at)
    return {name: value for name, value in written.items() if name not in call.system_fields} if isinstance(written, Mapping) else {}


async def load_field_lists(call: Call, lists: FieldLists) -> Mapping[str, Mapping[str, Field]]:
    """The lists that `call` needs, as far as the portal gives them."""
    found: dict[str, Mapping[str, Field]] = {}
    for leaf in call.leaves:
        name, written = find_list_name(leaf), extract_checked_names(leaf)
        if not name or not (written or leaf.spec.verb == "add"):
            continue
        try:
            found[name] = await lists.load_fields(name, has=partial(_has_names, wanted=frozenset(written)))
        except BitrixError:
            continue
        except Exception:  # a list that nobody foresaw must not keep a call from being judged
            log.exception("a list of fields cannot be read", extra={"action": "field_list_failed", "fields_of": name})
    return found


def _has_names(known: Mapping[str, Field], wanted: frozenset[str]) -> bool:
    return wanted <= known.keys()
