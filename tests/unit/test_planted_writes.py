"""Writes planted past the gate in a copy of the shipped code: each is caught by what `make check` and `make test` run, or when it is sent."""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bitrix.catalogue.catalogue import load_catalogue
from bitrix.client.read_only import WriteRefused
from tests.unit.spine_kit import World
from tests.unit.test_only_the_gate_writes import ALLOWED
from tests.unit.write_guard import WriteGuard

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
pytestmark = [pytest.mark.long, pytest.mark.req("G1")]

IMPORTS_CLIENT = '''
from bitrix.client.client import BitrixClient


async def drop(client: BitrixClient) -> None:
    """Send what nobody decided."""
    await client.call("crm.deal.delete", {"id": 481})
'''
CLIENT_HANDED_IN = '''

async def drop(client: Any, kind: str) -> None:
    """Send what nobody decided."""
    await client.call(f"crm.{kind}.delete", {"id": 481})
'''
FIELD_OF_THE_PERFORMER = '''

async def drop(tools: Tools, method: str) -> None:
    """Send what nobody decided."""
    await tools.gate.deps.performers["bitrix"]._client.call(method, {"id": 481})
'''
OWN_READER = '''

async def drop(reads: PortalReader, words: Sequence[str]) -> object:
    """Send what nobody decided; the name is known when it runs only."""
    return await reads.client.call(".".join(words), {"id": 481})
'''
IMPORTS_BULK = '''
from bitrix.bulk import bulk


def drop() -> object:
    """What sends without a decision."""
    return bulk
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped packages, and the sandbox that the contracts name, with pyproject.toml."""
    root = tmp_path_factory.mktemp("copy")
    for folder in ("bot", "engines", "orchestrator", "bitrix", "state", "sandbox"):
        for path in (ROOT / folder).rglob("*.py"):
            target = root / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    shutil.copyfile(ROOT / "pyproject.toml", root / "pyproject.toml")
    return root


class Plant:
    """Code added to the end of a file of the copy, until the test is over."""

    def __init__(self, copy: Path) -> None:
        self.copy = copy
        self._planted: dict[Path, str] = {}

    def add(self, name: str, code: str) -> Path:
        path = self.copy / name
        self._planted[path] = path.read_text(encoding="utf-8")
        path.write_text(self._planted[path] + code, encoding="utf-8")
        return path

    def remove(self) -> None:
        for path, before in self._planted.items():
            path.write_text(before, encoding="utf-8")


@pytest.fixture
def plant(copy: Path) -> Iterator[Plant]:
    planted = Plant(copy)
    yield planted
    planted.remove()


def run(copy: Path, *words: str) -> tuple[int, str]:
    """A tool of the virtual environment at work in the copy."""
    done = subprocess.run([TOOLS / words[0], *words[1:]], cwd=copy, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, " ".join(done.stdout.split())


def find_unlisted(copy: Path, *folders: str) -> set[str]:
    """What the guard finds in these folders outside its allow list."""
    guard = WriteGuard(load_catalogue(ROOT / "data" / "catalogue"))
    return {found.path for found in guard.find_writes(copy, folders)} - set(ALLOWED)


def test_the_copy_itself_passes(copy: Path) -> None:
    """The checks below fail because of the plant: the copy keeps every contract, and the guard finds nothing where it is planted."""
    code, said = run(copy, "lint-imports", "--no-cache")
    assert code == 0, said
    assert "0 broken" in said
    assert find_unlisted(copy, "orchestrator/features/history") == set()
    code, said = run(copy, "ruff", "check", "--no-cache", "orchestrator/features/history/feature.py")
    assert code == 0, said


def test_the_runtime_imports_the_client(plant: Plant) -> None:
    """import-linter: the portal's client is protected."""
    plant.add("orchestrator/sessions/outbox.py", IMPORTS_CLIENT)
    code, said = run(plant.copy, "lint-imports", "--no-cache")
    assert code != 0
    assert "the two probes BROKEN" in said
    assert "orchestrator.sessions.outbox -> bitrix.client.client" in said


def test_a_feature_is_handed_a_client(plant: Plant) -> None:
    """The guard: the file names a writing method and is not in its list."""
    plant.add("orchestrator/features/history/feature.py", CLIENT_HANDED_IN)
    assert find_unlisted(plant.copy, "orchestrator/features/history") == {"orchestrator/features/history/feature.py"}


def test_a_feature_takes_the_client_out_of_the_performer(plant: Plant) -> None:
    """ruff, SLF001: the field is private."""
    path = plant.add("orchestrator/features/history/feature.py", FIELD_OF_THE_PERFORMER)
    code, said = run(plant.copy, "ruff", "check", "--no-cache", "--output-format", "concise", str(path))
    assert code != 0
    assert "SLF001 Private member accessed: `_client`" in said


async def test_the_directory_writes_with_its_reader(plant: Plant, world: World) -> None:
    """At run time: no check of the source can know the name, and the reader refuses it before anything is sent."""
    path = plant.add("orchestrator/directory/portal_reads.py", OWN_READER)
    assert find_unlisted(plant.copy, "orchestrator/directory") == set()
    spec = importlib.util.spec_from_file_location("planted_reads", path)
    assert spec.loader is not None
    planted = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(planted)
    reads = planted.PortalReader(world.client, world.gate.deps.catalogue, world.clock)
    with pytest.raises(WriteRefused):
        await planted.drop(reads, ("crm", "deal", "delete"))
    assert world.portal.requests == []


def test_a_door_imports_bulk_work(plant: Plant) -> None:
    """import-linter: bulk work is protected."""
    plant.add("bot/telegram/door.py", IMPORTS_BULK)
    code, said = run(plant.copy, "lint-imports", "--no-cache")
    assert code != 0
    assert "everything but reads BROKEN" in said
    assert "bot.telegram.door -> bitrix.bulk.bulk" in said
