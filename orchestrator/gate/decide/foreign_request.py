"""Rewords the refusal of a call that only a text of others requested: it names the text, not whom to ask for leave. Pure."""

from collections.abc import Iterable
from typing import Final

from orchestrator.domain.effect import Provenance
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.reasons import refuse
from orchestrator.gate.call.targets import as_id
from orchestrator.gate.normalize.batch import build_command_label
from orchestrator.language.orders import speaks_of_change

_CLOSED: Final = frozenset(
    {
        "gate-batch-delete",
        "gate-closed",
        "gate-delete",
        "gate-handler",
        "gate-kind",
        "gate-mode",
        "gate-needs-application",
        "gate-needs-application-other",
        "gate-policy-refuses",
        "gate-rule-refuses",
    }
)


def reword_refusal(refusal: Refuse, call: Call, provenance: Provenance, facts: Facts) -> Refuse:
    """If the call is not allowed rather than faulty, the turn read others' text, and the person's words speak of no change."""
    code = str(refusal.reason.args.get("reason", refusal.reason.code))
    if not provenance.prose or call.reads_only or code not in _CLOSED:
        return refusal
    leaf = _find_refused(call.leaves, str(refusal.reason.args.get("key", "")))
    if speaks_of_change(provenance.person_text):
        return refusal
    label = build_command_label(leaf, facts)
    return refuse(
        "gate-foreign-request",
        source="message" if provenance.pasted else "record",
        verb=leaf.spec.verb if leaf.spec.verb != "action" else leaf.spec.name.rpartition(".")[2].lower(),
        entity=label.entity or "none",
        title=label.title,
        id=label.number or next(filter(None, (as_id(leaf.params.get(name)) for name in ("id", "ID"))), 0),
        method=leaf.method,
    )


def _find_refused(leaves: Iterable[Call], key: str) -> Call:
    calls = list(leaves)
    return next((leaf for leaf in calls if leaf.key == key), calls[0])
