"""Refusals that no approval can override; the first one is reported. Pure.

While operators have stopped all writes, the final check is `state.journal.freeze_switch`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, assert_never
from urllib.parse import urlsplit

from bitrix.catalogue.names import is_custom_field
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import critical_fields, fields, held_parts, modes, targets
from orchestrator.gate.call.effect import Call, Facts, Refuse, Target
from orchestrator.gate.call.kept_files import list_kept_digests
from orchestrator.gate.call.kinds.registry import KINDS
from orchestrator.gate.call.permissions import find_visible_users, may_touch
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.reasons import refuse
from orchestrator.gate.call.serialization import StoredCall
from orchestrator.gate.decide import evaluate_rules, value_kinds
from state.journal.freeze_switch import FreezeState
from state.stored import JsonObject

FROZEN: Final = "frozen"
FROZEN_CARD: Final = "frozen-card"


def may_run_while_frozen(call: Call | StoredCall) -> bool:
    """It only reads, or writes only to the bot's own database."""
    return call.kind in {"schedule", "order"} or set(call.classes) <= {"R"}


def build_freeze_refusal(standing: FreezeState, call: Call) -> Refuse:
    who = f" by {standing.name}" if standing.name else ""
    detail = (
        f"writing is stopped for everybody{who} (an administrator froze it): nothing was sent. Reading goes on. "
        "Propose no other write in this turn; the person is told."
    )
    return Refuse(reason=Notice(code=FROZEN, args={**build_freeze_args(standing), "method": call.method}), detail=detail)


def build_card_notice(standing: FreezeState) -> Notice:
    """The card stays open."""
    return Notice(code=FROZEN_CARD, args=build_freeze_args(standing))


def build_freeze_args(standing: FreezeState) -> dict[str, str]:
    return to_freeze_args(standing.name, standing.at, standing.reason)


def to_freeze_args(who: str, at: str, why: str) -> dict[str, str]:
    return {"who": who, "at": at, "why": why, "known": "yes" if who else "no", "given": "yes" if why else "no"}


_NEEDS_PLAIN_ID = frozenset({"D", "C", "M"})
_PASSWORD = re.compile(r"passw(?:or)?d")
_RIGHTS = frozenset({"rights", "access", "accesscode", "accesscodes", "isadmin", "adminmode"})
_RIGHTS_OF = {"user": frozenset({"groupid", "groupids"}), "group": frozenset({"role"})}
_RESPONSIBLE = frozenset({"assignedbyid", "responsibleid"})


def find_refusal(call: Call, *, mode: Mode, policy: Policy, actor: Actor, facts: Facts, is_undo: bool = False) -> Refuse | None:
    """For a call or one command. An undo may put a dismissed employee back as observer, not as responsible."""
    return (
        _check_credentials(call)
        or _check_kept_files(call, facts, is_undo=is_undo)
        or _check_policy(call, policy, facts, is_undo=is_undo)
        or facts.unread
        or _check_connection(call, facts)
        or (None if modes.may_run(call, mode) else refuse("gate-mode", method=call.method, mode=mode))
        or _check_handler(call, policy)
        or _check_reference(call)
        or next(_check_records(call, actor=actor, facts=facts, mode=mode), None)
        or next(_check_linked_records(call, actor=actor, facts=facts, mode=mode), None)
        or next(_check_people(call, facts, is_undo=is_undo), None)
    )


def _check_kept_files(call: Call, facts: Facts, *, is_undo: bool) -> Refuse | None:
    digests = set(list_kept_digests(call.params))
    if not digests or (is_undo and not call.key and digests <= facts.kept_files):
        return None
    return refuse("gate-kept-file", method=call.method)


def _check_policy(call: Call, policy: Policy, facts: Facts, *, is_undo: bool) -> Refuse | None:
    refused = policy.refuse_methods
    if refused and any(policy.is_listed(refused, name) for name in evaluate_rules.list_method_names(call)):
        return refuse("gate-policy-refuses", method=call.method)
    if call.kind != "bitrix":
        return KINDS[call.kind].find_refusal(call, policy)
    if policy.is_listed(policy.open_methods, call.listed_as):
        return None
    if "D" in call.classes:
        undoes = is_undo and bool(call.targets) and set(call.targets) <= facts.undone
        if call.spec.owner == "author" and call.targets and (undoes or policy.delete_own_comments):
            return _check_author(call, facts)
        return None if undoes else refuse("gate-delete", method=call.method)
    return refuse("gate-closed", method=call.method) if call.spec.closed else None


def _check_credentials(call: Call) -> Refuse | None:
    """No conversation may hold a password or give rights. Custom fields may be called like rights."""
    if call.reads_only:
        return None
    is_portal = call.kind == "bitrix"
    names = [*call.written_fields, *(_walk_names(call.params) if is_portal else call.params)]
    if (name := next((name for name in names if _PASSWORD.search(fields.to_field_key(name))), None)) is not None:
        return refuse("gate-password", param=name)
    rights = _RIGHTS | _RIGHTS_OF.get(call.entity or call.spec.entity, frozenset())
    is_given = any(fields.to_field_key(name) in rights and not is_custom_field(name) for name in names)
    return refuse("gate-access-rights", method=call.method) if is_portal and (is_given or call.spec.rights) else None


def _walk_names(value: object) -> Iterator[str]:
    for name, inner in value.items() if isinstance(value, Mapping) else ():
        yield str(name)
        yield from _walk_names(inner)
    for inner in value if isinstance(value, list) else ():
        yield from _walk_names(inner)


def _check_connection(call: Call, facts: Facts) -> Refuse | None:
    if not (facts.by_webhook and call.spec.app_only):
        return None
    return refuse("gate-needs-application" if call.spec.entity == "binding" else "gate-needs-application-other", method=call.method)


def _check_handler(call: Call, policy: Policy) -> Refuse | None:
    """The portal would send its data to an unlisted host."""
    if "C" not in call.classes or call.method == "event.unbind":
        return None
    for name, value in call.params.items():
        if fields.to_field_key(name).endswith("handler") and not is_listed_host(value, policy.event_handler_hosts):
            return refuse("gate-handler", host=parse_host(value) or value)
    return None


def _check_reference(call: Call) -> Refuse | None:
    if not call.references:
        return None
    path = next((path for path in call.spec.target if path in call.references), None)
    ids = [name for name in call.references if name.lower().endswith("id")]
    stands = path or next(iter(ids), None)
    if stands is None or not _NEEDS_PLAIN_ID & set(call.classes):
        return None
    return refuse("gate-reference", param=stands, method=call.method)


def _check_records(call: Call, *, actor: Actor, facts: Facts, mode: Mode) -> Iterator[Refuse]:
    if call.kind != "bitrix" and not call.targets:
        return
    if call.spec.owner != "self":
        for entity, number in call.targets:
            if facts.records.get((entity, number), call) is None:
                yield refuse("gate-not-found", entity=entity, id=number)
    if find_visible_users(actor) is not None:
        yield from _check_scope(call, actor=actor, facts=facts, mode=mode)


def _check_scope(call: Call, *, actor: Actor, facts: Facts, mode: Mode) -> Iterator[Refuse]:
    match call.spec.owner:
        case "unscoped":
            yield refuse("gate-unscoped", method=call.method)
        case "self":
            yield from _check_self(call, actor)
        case "record" | "part" | "author":
            yield from _check_owner(call, actor=actor, facts=facts, mode=mode)
        case "event":
            yield from _check_event(call, actor=actor, facts=facts)
        case "filter" | "reference":
            return
        case _:  # pragma: no cover - the type checker proves that it cannot be
            assert_never(call.spec.owner)


def _check_self(call: Call, actor: Actor) -> Iterator[Refuse]:
    allowed = find_visible_users(actor) or frozenset()
    if call.spec.target and not any(entity == "user" and number in allowed for entity, number in call.targets):
        yield refuse("gate-unscoped", method=call.method)


def _check_owner(call: Call, *, actor: Actor, facts: Facts, mode: Mode) -> Iterator[Refuse]:
    if (not call.targets or call.unknown_target) and not call.target_created:
        yield refuse("gate-target-unclear", param=next(iter(call.places), "") or " / ".join(call.spec.target))
    if call.spec.owner == "record":
        yield from _check_rights(call, call.targets, actor=actor, facts=facts, mode=mode)
        return
    yield from _check_wholes(call, facts=facts, mode=mode)
    if call.spec.owner == "author" and (refusal := _check_author(call, facts)) is not None:
        yield refusal


def _check_author(call: Call, facts: Facts) -> Refuse | None:
    return None if set(call.targets) <= facts.own_parts else refuse("gate-not-author", method=call.method)


_EVENT_OWNERS = (("CAL_TYPE", "type"), ("OWNER_ID", "ownerId"), ("SECT_ID", "section"))
_USER_CALENDAR = "user"


def _check_event(call: Call, *, actor: Actor, facts: Facts) -> Iterator[Refuse]:
    """The event must stay in a calendar of the actor's users. A meeting is its host's, also in its guests' calendars."""
    allowed = find_visible_users(actor) or frozenset()
    row = held_parts.find_part(call, facts) or {}
    owner, host = targets.as_id(row.get("OWNER_ID")), targets.as_id(row.get("MEETING_HOST"))
    is_own = row.get("CAL_TYPE") == _USER_CALENDAR and owner in allowed and (host is None or host in allowed or not _is_meeting(row))
    stays = all(
        str(given) == str(row.get(field))
        for field, param in _EVENT_OWNERS
        for name, given in call.params.items()
        if fields.to_field_key(name) == param.lower() and given not in (None, "")
    )
    if not is_own or not stays:
        yield refuse("gate-unscoped", method=call.method)


def _is_meeting(row: JsonObject) -> bool:
    return row.get("IS_MEETING") not in (None, False, "", "0", 0, "N")


def _check_wholes(call: Call, *, facts: Facts, mode: Mode) -> Iterator[Refuse]:
    for part in call.targets:
        whole = facts.wholes.get(part)
        if whole is None and mode != "shadow":  # shadow reads nothing, and runs nothing either
            yield refuse("gate-unscoped", method=call.method)
        elif whole is not None and not (whole.is_visible or whole.target in facts.handed_over or _is_linked(call, whole.target, facts)):
            yield refuse("gate-not-yours", entity=whole.target[0], id=whole.target[1])


def _check_linked_records(call: Call, *, actor: Actor, facts: Facts, mode: Mode) -> Iterator[Refuse]:
    for tie in call.ties:
        if facts.records.get(tie, call) is None:
            yield refuse("gate-not-found", entity=tie[0], id=tie[1])
    if find_visible_users(actor) is None:
        return
    if call.unknown_target and not call.target_created and call.references and not call.reads_only:
        yield refuse("gate-target-unclear", param=call.references[0])
    yield from _check_rights(call, call.ties, actor=actor, facts=facts, mode=mode)


def _check_people(call: Call, facts: Facts, *, is_undo: bool) -> Iterator[Refuse]:
    """The portal accepts dismissed employees, and nobody would look after the record."""
    if not facts.dismissed_users:
        return
    for name, ids in value_kinds.find_new_people(call, facts):
        key = fields.to_field_key(call.spec.stands_for.get(name, name), call.entity)
        for number in [] if is_undo and key not in _RESPONSIBLE else sorted(facts.dismissed_users):
            if str(number) in ids:
                yield refuse("gate-user-inactive", id=number, field=critical_fields.to_field_code(call, name))


def _check_rights(call: Call, records: Iterable[Target], *, actor: Actor, facts: Facts, mode: Mode) -> Iterator[Refuse]:
    for entity, number in records:
        definition = call.entities.get(entity)
        record = facts.records.get((entity, number))
        if definition is None:
            yield refuse("gate-unscoped", method=call.method)
        elif record is None:
            if mode != "shadow":  # shadow reads nothing, and runs nothing either
                yield refuse("gate-unread", entity=entity, id=number)
        elif not (
            may_touch(actor, definition, record)
            or (entity, number) in facts.made | facts.handed_over
            or _is_linked(call, (entity, number), facts)
        ):
            yield refuse("gate-not-yours", entity=entity, id=number)


def _is_linked(call: Call, target: Target, facts: Facts) -> bool:
    return call.reads_only and call.spec.linked and target in facts.linked


_PLAIN_ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][!-~]*)?", re.ASCII)


def parse_host(address: object) -> str:
    """Empty for anything but https, and for what two URL parsers could read differently."""
    if not isinstance(address, str) or not _PLAIN_ADDRESS.fullmatch(address):
        return ""
    return (urlsplit(address).hostname or "").rstrip(".")


def is_listed_host(address: object, hosts: Iterable[str]) -> bool:
    """A listed host does not include its subdomains."""
    return parse_host(address) in {host.lower() for host in hosts if host}
