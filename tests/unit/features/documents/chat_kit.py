"""The product with a folder of documents, an administrator's private chat, and the messenger's files: for tests of documents by chat."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.inputs import DirectAnswer, FeatureClick, SentDocument, TextMessage
from orchestrator.domain.outputs import Notice
from orchestrator.services.rag.building import connect_embedded
from state.clock import generate_id
from state.journal.store import InboxRow
from state.sql import SqlStore
from tests.unit.services.rag.rag_kit import build_service
from tests.unit.spine_kit import ANNA, BORIS, NOW, World, a_world

ADMIN = ANNA.model_copy(update={"role": "admin"})
SECOND = BORIS.model_copy(update={"role": "admin"})
TEXT = "# Отпуск\n\nОтпуск длится 28 дней.\n"


@dataclass
class SentFiles:
    """The messenger's files by id, and how often one was downloaded."""

    contents: dict[str, bytes] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)

    async def read(self, file_id: str, limit: int, *, within: float = 1) -> bytes:
        del within
        self.reads.append(file_id)
        if file_id not in self.contents:
            raise FileUnavailable("gone")
        if len(self.contents[file_id]) > limit:
            raise FileUnavailable("too large", is_too_large=True)
        return self.contents[file_id]


@dataclass
class Desk:
    """The world of a test: the product, the folder, and the files of the messenger."""

    world: World
    folder: Path
    files: SentFiles

    async def send(
        self,
        name: str,
        content: str | bytes = TEXT,
        *,
        actor: Actor = ADMIN,
        caption: str = "",
        size: int | None = None,
        album: str | None = None,
    ) -> None:
        """Send a file into the private chat."""
        await self.world.work(self.build_sent(name, content, actor=actor, caption=caption, size=size, album=album))

    def build_sent(
        self,
        name: str,
        content: str | bytes = TEXT,
        *,
        actor: Actor = ADMIN,
        caption: str = "",
        size: int | None = None,
        album: str | None = None,
    ) -> InboxRow:
        """The input of a file that is sent into the private chat."""
        data = content if isinstance(content, bytes) else content.encode()
        self.files.contents[name] = data
        other: Any = TextMessage(text=caption) if caption else DirectAnswer(notice=Notice(code="only-text"))
        sent = SentDocument(
            file_id=name, name=name, size=len(data) if size is None else size, caption=caption, album=album, instead_kind=other.KIND,
            instead_lane="turn" if caption else "express", instead=other.to_json(),
        )  # fmt: skip
        return build_row(SentDocument.KIND, sent.to_json(), actor)

    def take(self) -> tuple[list[str], list[list[str]]]:
        """(codes of the notices, words of the buttons) of the messages that wait; takes them off."""
        rows = [row for row in self.world.outbox() if row.kind == "reply"]
        codes = [one["code"] for row in rows for one in row.body["notices"]]
        return codes, [one["words"] for row in rows for one in row.body["actions"]]

    def take_toasts(self) -> list[str]:
        """Codes of the short answers to presses that wait; takes everything off."""
        return [row.body["notice"]["code"] for row in self.world.outbox() if row.kind == "toast"]

    def list_files(self) -> dict[str, str]:
        """What the folder holds, hidden files too."""
        return {
            str(one.relative_to(self.folder)): one.read_text(encoding="utf-8") for one in sorted(self.folder.rglob("*")) if one.is_file()
        }


def build_row(kind: str, body: Any, actor: Actor = ADMIN) -> InboxRow:
    """An input of the private chat."""
    fresh = generate_id()
    return InboxRow(
        id=fresh,
        source=f"x:{fresh}",
        session=actor.key,
        lane="express",
        kind=kind,
        actor=actor.model_dump(mode="json"),
        body=body,
        received_at=NOW,
    )


def press(words: list[str], actor: Actor = ADMIN) -> InboxRow:
    """A press on a button."""
    return build_row(FeatureClick.KIND, FeatureClick(words=tuple(words), callback_id="c1").to_json(), actor)


@asynccontextmanager
async def a_desk(place: Path, *, here: bool = True, store: SqlStore | None = None) -> AsyncIterator[Desk]:
    """The product with a document service inside, or with none."""
    files, folder = SentFiles(), place / "docs"
    service = build_service(place)
    service.poll_seconds = 3600
    async with service:
        await service.wait_until_read()
        made = connect_embedded(service).shelf if here else None
        async with a_world(place, store=store, shelf=made, files=files) as world:
            yield Desk(world, folder, files)
