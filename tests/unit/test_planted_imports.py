"""Imports planted into the graph of the shipped code, one at a time: each breaks one contract, which says what is wrong with it."""

from copy import deepcopy
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import grimp
import pytest
from importlinter.api import read_configuration
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract

ROOT: Final = Path(__file__).resolve().parents[2]
TYPES: Final = {
    "forbidden": ForbiddenContract,
    "independence": IndependenceContract,
    "layers": LayersContract,
    "protected": ProtectedContract,
}
CONFIGURATION: Final = read_configuration(str(ROOT / "pyproject.toml"))
CONTRACTS: Final[list[dict[str, Any]]] = CONFIGURATION["contracts_options"]
RINGS, APART, CORES, FACES, SANDBOX = "rings", "engines are independent", "what an engine is", "the faces", "nothing shipped"
LAYERS, FEATURES, CLIENT, PERFORMERS = "inside the orchestrator", "features are", "the portal's client", "performers act"


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*CONFIGURATION["session_options"]["root_packages"], cache_dir=None)


def list_broken(graph: grimp.ImportGraph) -> list[str]:
    """The names of the contracts that this graph breaks."""
    session = CONFIGURATION["session_options"]
    contracts = [TYPES[options["type"]](options["name"], session, options) for options in CONTRACTS]
    return [contract.name for contract in contracts if not contract.check(deepcopy(graph), verbose=False).kept]


@pytest.mark.long
def test_without_a_plant_nothing_is_broken(graph: grimp.ImportGraph) -> None:
    assert list_broken(graph) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("importer", "imported", "broken"),
    [
        ("engines.scenarios.core.plan", "engines.scenarios.kind_face", CORES),
        ("engines.scenarios.core.plan", "engines.scenarios.of_no_name_so_far", CORES),
        ("engines.scenarios.core.plan", "engines.workflows.core.kind", CORES),
        ("engines.scenarios.core.plan", "engines.workflows.cases", CORES),
        ("engines.scenarios.core.plan", "orchestrator.gate.gate", CORES),
        ("engines.scenarios.core.plan", "orchestrator.directory.lookup", CORES),
        ("engines.scenarios.core.plan", "bot.plugins.plugin", CORES),
        ("engines.scenarios.core.plan", "bot.composition.portal", CORES),
        ("engines.scenarios.core.plan", "state.sql.store", CORES),
        ("engines.scenarios.core.plan", "bitrix.client.client", CLIENT),
        ("engines.scenarios.run_face", "bot.composition.portal", FACES),
        ("engines.scenarios.run_face", "orchestrator.gate.gate", FACES),
        ("engines.scenarios.run_face", "orchestrator.directory.lookup", FACES),
        ("engines.scenarios.run_face", "orchestrator.reports.activity", FACES),
        ("engines.scenarios.run_face", "bitrix.client.client", CLIENT),
        ("engines.scenarios.run_face", "orchestrator.performers.bitrix", PERFORMERS),
        ("engines.scenarios.run_face", "engines.workflows.run_face", APART),
        ("engines.scenarios.terminal.app", "engines.workflows.core.kind", APART),
        ("engines.scenarios.terminal.app", "bot.http_api.chat.responses", FACES),
        ("engines.scenarios.of_no_name_so_far", "orchestrator.runtime.worker", FACES),
        ("engines.scenarios.of_no_name_so_far", "bot.telegram.door", FACES),
        ("engines.scenarios.of_no_name_so_far.deeper", "state.sql.store", FACES),
        ("engines.newcomer.of_no_name_so_far", "orchestrator.runs.memo", FACES),
        ("engines.scenarios.core.plan", "sandbox.demo", SANDBOX),
        ("engines.scenarios.run_face", "sandbox.demo", SANDBOX),
        ("bot.composition.portal", "engines.scenarios.wiring", RINGS),
        ("bot.telegram.door", "engines.scenarios.run_face", RINGS),
        ("orchestrator.domain.actor", "engines.scenarios.wiring", RINGS),
        ("orchestrator.domain.actor", "bot.telegram.door", RINGS),
        ("orchestrator.runs.registry", "engines.scenarios.core.kind", RINGS),
        ("orchestrator.gate.call.policy", "engines.crm_agent.turn_face", RINGS),
        ("orchestrator.features.history.feature", "engines.scenarios.wiring", RINGS),
        ("state.stored", "engines.scenarios.run_face", RINGS),
        ("bitrix.errors", "engines.scenarios.run_face", RINGS),
        ("orchestrator.domain.actor", "orchestrator.features.history.feature", LAYERS),
        ("orchestrator.engines.base", "orchestrator.performers.bitrix", PERFORMERS),
        ("orchestrator.engines.base", "orchestrator.runtime.worker", LAYERS),
        ("orchestrator.features.history.feature", "orchestrator.features.undo.handlers", FEATURES),
        ("bot.console.visit", "bitrix.client.client", CLIENT),
        ("bot.console.visit", "orchestrator.performers.bitrix", PERFORMERS),
    ],
)
def test_a_planted_import_breaks_one_contract(graph: grimp.ImportGraph, importer: str, imported: str, broken: str) -> None:
    planted = deepcopy(graph)
    for module in (importer, imported):
        assert module in graph.modules or "no_name" in module
        for parent in accumulate(module.split("."), "{}.{}".format):
            planted.add_module(parent)
    planted.add_import(importer=importer, imported=imported)
    (name,) = list_broken(planted)
    assert name.startswith(broken)


@pytest.mark.slow
def test_every_debt_of_an_engine_is_one(graph: grimp.ImportGraph) -> None:
    """Who no longer imports what only its engine may leaves the list; an engine that was taken out owes nothing."""
    debts = {line for contract in CONTRACTS for line in contract.get("ignore_imports", ()) if not line.startswith(("engines.*", "**"))}
    owed = {line for line in debts if ".".join(line.split(".")[:2]) in graph.modules}
    assert [line for line in sorted(owed) if not graph.find_matching_direct_imports(line)] == []
