"""Runs that wait in every way: the definitions they execute, and how their corpus is opened again.

`tests/corpus/runs_v1` was written once; `tests/regression/test_runs_v1.py` resumes each of its runs with the program of today.
"""

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.run_inputs import RunOrder
from state.clock import generate_id
from state.sql import build_sqlite_url, open_store
from tests.unit.runs.runs_kit import a_run_world, steps
from tests.unit.spine_kit import ANNA, CHAT, NOW, InboxRow, World
from tests.unit.spine_portal import Portal

CORPUS = Path(__file__).parent / "runs_v1"
LARGE: Final = "Поставка трансформаторов заводу. " * 100
DOCUMENTS: Final[dict[str, Any]] = {
    "input": steps({"model": "начало"}, {"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}, {"say": "Тариф: {s1}, {s0}"}),
    "text": steps({"ask": "Как зовут клиента?"}, {"say": "Клиент: {s0}"}),
    "timeout": steps({"ask": "Да?", "options": ["Да"], "timeout": 3600}, {"say": "Дальше без ответа"}),
    "effect": steps({"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}, {"say": "Сумма: {s0}"}),
    "timer": steps({"sleep": 7200}, {"say": "Проснулся"}),
    "child": steps({"child": "inner"}, {"say": "Вернулся"}),
    "inner": steps({"ask": "Внутри?", "options": ["Да"]}, {"say": "Внутри: {s0}"}),
    "paused": steps({"ask": "Пока?", "options": ["Да"]}, {"say": "Снят с паузы: {s0}"}),
    "failed": steps({"model": "раз"}, {"model": "два"}, {"say": "Со второй попытки: {s1}"}),
    "turn": steps({"turn": "подними сумму сделки 482"}, {"say": "Ход: {s0}"}),
    "unknown": steps({"write": "crm.deal.update", "params": {"id": 482, "fields": {"COMMENTS": "Перезвонить"}}}, {"say": "Записано: {s0}"}),
    "pinned": steps({"sleep": 10800}, {"child": "later"}, {"say": "Дальше по старому плану"}),
    "later": steps({"say": "Старый текст"}),
    "killed": steps({"model": "раз"}, {"model": "два"}, {"say": "Доехал: {s1}"}),
}
RUNS: Final = {
    name: f"run:0190aaaa-0000-7000-8000-0000000000{number:02}" for number, name in enumerate(DOCUMENTS) if name not in {"inner", "later"}
}
"""The key of each run, by the way in which it waits. The run "inner" was started by "child" and has a key of its own, and "later" did not
begin yet."""
NEWER: Final = {name: steps({"say": "Это новая версия"}) for name in DOCUMENTS}
"""What the same definitions say now: runs that were begun before go on with the text that they began with."""


def click(key: str, *words: str) -> InboxRow:
    """A click on a button of a run in its chat."""
    fresh = generate_id()
    body = FeatureClick(words=("run", key.removeprefix("run:"), *words), callback_id=fresh).to_json()
    return _row(fresh, CHAT, FeatureClick.KIND, body)


def order(key: str, what: str) -> InboxRow:
    """A person's order to a run."""
    fresh = generate_id()
    return _row(fresh, key, RunOrder.KIND, RunOrder(order=what).to_json())


def _row(fresh: str, session: str, kind: str, body: Mapping[str, Any]) -> InboxRow:
    actor = ANNA.model_dump(mode="json")
    return InboxRow(id=fresh, source=fresh, session=session, lane="express", kind=kind, actor=actor, body=body, received_at=NOW)


@asynccontextmanager
async def opened_runs(folder: Path, documents: Mapping[str, Any] = NEWER, *, portal: Portal | None = None) -> AsyncIterator[World]:
    """The program of today on the database in that folder."""
    async with a_run_world(folder, documents, store=open_store(build_sqlite_url(folder / "sdelka.db")), portal=portal) as world:
        yield world


def copy_corpus(folder: Path) -> Path:
    """A copy of the corpus to work with."""
    shutil.copytree(CORPUS, folder, dirs_exist_ok=True)
    return folder
