"""The service of definitions of a door."""

from collections.abc import Callable

from bitrix.catalogue.catalogue import Catalogue
from bot.plugins.loading import list_faults, list_kinds
from bot.settings.settings import Settings
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.definitions.rules import FindClasses, IsCriticalField, KindRoles, MayFetch
from orchestrator.definitions.service import DefinitionService
from orchestrator.domain.http_address import OddAddress, parse_address
from orchestrator.gate.call.critical_fields import is_critical_field
from orchestrator.gate.call.effect_kinds import find_method_classes
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.kinds.http import may_be_fetched
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.policy_format import DefinitionRoles
from orchestrator.rehearsals.call_forms import CallForms, FindReference, find_no_portal
from orchestrator.runs.registry import Engines
from state.clock import Clock
from state.journal.async_store import AsyncStore

FindCatalogue = Callable[[], Catalogue]
"""A door may load it when it is needed first."""


def build_definition_service(
    store: AsyncStore,
    engines: Engines,
    *,
    policies: PolicySource,
    catalogue: FindCatalogue,
    clock: Clock,
    find_reference: FindReference = find_no_portal,
) -> DefinitionService:
    """A change of the policy counts at the next request. `find_reference` returns None without a portal."""
    return DefinitionService(
        store,
        engines.kinds,
        find_roles=lambda kind: find_roles(kind, policies.now()),
        find_classes=build_class_finder(catalogue),
        is_critical=build_field_judge(catalogue, policies),
        clock=clock,
        may_fetch=build_host_judge(policies),
        check_call=CallForms(catalogue, find_reference).check,
    )


def build_class_finder(catalogue: FindCatalogue) -> FindClasses:
    return lambda kind, method: find_method_classes(catalogue(), kind, method)


def build_field_judge(catalogue: FindCatalogue, policies: PolicySource) -> IsCriticalField:
    """Whether a value at a place in an effect makes a card."""
    return lambda write, place: is_critical_field(catalogue(), policies.now().critical_fields, write, place)


def build_host_judge(policies: PolicySource) -> MayFetch:
    """An odd address is a mistake of its own."""

    def may_fetch(text: str) -> bool:
        try:
            return may_be_fetched(parse_address(text), policies.now())
        except OddAddress:
            return True

    return may_fetch


def list_known_kinds(settings: Settings, engines: Engines, policy: Policy) -> set[str]:
    """Also of absent engines, known by plugin, fault or stored definitions; none without any engine."""
    from state.verify.health import read_definition_kinds  # noqa: PLC0415 - what only checks files needs no database

    if not engines.kinds:  # of no name can it be told whether it is misspelt
        return set()
    known = {*engines.kinds, *list_kinds(), *(fault.engine for fault in list_faults())}
    is_complete = policy.definitions.keys() <= known
    return known if is_complete else known | read_definition_kinds(settings.database.get_secret_value())


def describe_absent_kinds(policy: Policy, engines: Engines) -> list[str]:
    """Kinds that the policy names and no engine has."""
    absent = sorted(policy.definitions.keys() - engines.kinds.keys())
    return [f"definitions.{kind}: no engine here has this kind; its roles count again when the engine is back" for kind in absent]


def find_roles(kind: DefinitionKind, policy: Policy) -> KindRoles:
    """As the policy says, otherwise the kind."""
    roles = policy.definitions.get(kind.name, DefinitionRoles())
    return KindRoles(
        edit=kind.edit_roles if roles.edit is None else roles.edit,
        publish=kind.publish_roles if roles.publish is None else roles.publish,
    )
