"""A home with logs and a database in which Anna, Vera and Boris have talked, and the erasing of one of them: for tests of it."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from orchestrator.domain.errors import SettingsError
from orchestrator.reports.erasure import erase
from orchestrator.reports.erasure.erase import ErasureFiles, ErasureResult, PersonSurvey
from state.sql import SqlStore, build_sqlite_url, open_store
from tests.unit.spine_kit import BORIS, CHAT, VERA, World, a_world, message, press, raise_sum, reply, step
from tests.unit.spine_portal import Portal, deal

LATER = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
WISH = "подними сумму сделки 481 до 1 200 000, Синицын согласен"
REFUSED_WISH = "переведи сделку 482 Вектор на стадию Успех, обещал Кузнецов"
THEIRS = "что там по сделке 500, звонил Воробьёв"
READ = "Поставка трансформаторов заводу в Нижней Туре"
TOLD = "Поднимаю сумму, как просил Синицын."
SECRETS = (WISH, REFUSED_WISH, READ, TOLD, "Анна")


@dataclass(frozen=True)
class Home:
    """A folder with the logs, and a database in it or on a server."""

    folder: Path
    url: str

    @property
    def place(self) -> ErasureFiles:
        state = self.folder / "state"
        return ErasureFiles(logs=self.folder / "logs", files=tuple(state.iterdir()) if state.exists() else ())


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots in a short talk too."""
    monkeypatch.setattr("orchestrator.sessions.session.SNAPSHOT_EVERY", 5)


@pytest.fixture(name="home")
def a_home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    """On SQLite in the folder, or on PostgreSQL where the test says so."""
    if getattr(request, "param", "file") == "file":
        yield Home(tmp_path, build_sqlite_url(tmp_path / "state" / "sdelka.db"))
        return
    server = request.getfixturevalue("postgres")
    made = Home(tmp_path, server.fresh())
    yield made
    server.drop(made.url)


async def talk(home: Home, *, decide: bool = True) -> None:
    """Anna asks and Vera, who may, decides; a large answer is read; Boris has a talk of his own."""
    portal = Portal()
    portal.records |= {("deal", number): deal(number, f"{READ} {number}", "1.00", owner=7) for number in range(600, 640)}
    async with a_world(home.folder, store=open_store(home.url), portal=portal) as world:
        world.model.will(reply(step("crm.deal.list", {"filter": {"STAGE_ID": "NEW"}, "select": ["*"]})), reply())
        await world.work(message("покажи мои новые сделки"))
        await decided(world, WISH, raise_sum(), approve=True if decide else None)
        if decide:
            await decided(world, REFUSED_WISH, step("crm.deal.update", {"id": 482, "fields": {"STAGE_ID": "WON"}}), approve=False)
        world.model.will(reply(text="Сделка 500: Воробьёв ждёт."))
        await world.work(message(THEIRS, actor=BORIS, key=BORIS.key))
        if decide:
            world.outbox()


async def decided(world: World, text: str, wish: dict[str, Any], *, approve: bool | None) -> None:
    world.model.will(reply(wish, text=TOLD))
    await world.work(message(text))
    if approve is None:
        return
    session = await world.session()
    [entry] = [item for item in session.state.agent.confirmations.values() if item.status == "requested"]
    await session.close()
    await world.work(press(entry, approve=approve, actor=VERA))


def everything(home: Home) -> bytes:
    """All bytes that lie under the data folder, archives unpacked, and all text that a server keeps."""
    files = [path for path in sorted(home.folder.rglob("*")) if path.is_file()]
    read = [gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files]
    with opened(home) as store:
        return b"\n".join([*read, *(stored.text.encode() for stored in store.open_erasure().iterate_texts())])


@contextmanager
def opened(home: Home) -> Iterator[SqlStore]:
    store = open_store(home.url)
    yield store
    store.close()


def run(home: Home, person: str = CHAT) -> tuple[PersonSurvey, ErasureResult]:
    with opened(home) as store:
        found = erase.inspect_person(store, person, home.place)
        return found, erase.erase_person(store, found, home.place, now=LATER, by="cli:ops")


@pytest.fixture(name="command")
def a_command(home: Home, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`sdelka journal erase …` on the folder of this test."""
    from bot.cli.journal.app import app  # noqa: PLC0415 - only this fixture needs it

    monkeypatch.setenv("STATE_DIR", str(home.folder / "state"))
    monkeypatch.setenv("LOG_DIR", str(home.folder / "logs"))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(home.folder)

    def called(*arguments: str, typed: str = "") -> tuple[int, str]:
        result = CliRunner().invoke(app, ["erase", *arguments], input=typed)
        if isinstance(result.exception, SettingsError):  # as bot.cli.app tells it
            return 2, f"{result.output}{result.exception.reason}"
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output

    return called
