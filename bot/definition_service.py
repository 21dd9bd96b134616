"""Builds the service of definitions for a door: kinds from the engines, roles from the policy, classes of methods from the catalogue."""

from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.definitions.rules import FindClasses, KindRoles
from orchestrator.definitions.service import DefinitionService
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.policy_format import DefinitionRoles
from orchestrator.runs.registry import Engines
from state.clock import Clock
from state.journal.async_store import AsyncStore


def build_definition_service(
    store: AsyncStore, engines: Engines, *, policies: PolicySource, find_classes: FindClasses, clock: Clock
) -> DefinitionService:
    """Return the service for the kinds of these engines; a change of the policy counts at the next request."""
    return DefinitionService(
        store, engines.kinds, find_roles=lambda kind: find_roles(kind, policies.now()), find_classes=find_classes, clock=clock
    )


def find_roles(kind: DefinitionKind, policy: Policy) -> KindRoles:
    """Return who may edit and publish definitions of the kind: as the policy says, where it says nothing as the kind does."""
    given = policy.definitions.get(kind.name, DefinitionRoles())
    return KindRoles(
        edit=kind.edit_roles if given.edit is None else given.edit,
        publish=kind.publish_roles if given.publish is None else given.publish,
    )
