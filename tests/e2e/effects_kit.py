"""One run that uses every kind of effects: the example's definition «Отгрузка», with the site of a warehouse and a database beside it."""

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import yaml

from examples.engines.definitions import load_engines
from examples.engines.steps import StepsEngine
from orchestrator.runs.registry import Engines, RegisteredEngine, RunCommand, StaticDefinitions
from tests.e2e.e2e_kit import World
from tests.http_kit import Server, a_server, reply
from tests.mongo_kit import MongoServer, a_mongo_server

DEFINITION: Final = "Отгрузка"
BEFORE: Final = """Заявка на отгрузку, сделка «Ромашка»
Светильники: 80 шт.
Сумма: 86 400 ₽
Адрес: Тверь, ул. Советская, 10
"""
"""What the file holds before the run."""
SECRET: Final = "wh-7f3a9c"
_ANSWER: Final = json.dumps({"order": "З-118"}, ensure_ascii=False).encode()
_FIELDS: Final = {"client": "Клиент", "product": "Товар", "count": "Количество", "status": "Статус", "reserved": "В резерве"}


@dataclass(frozen=True, kw_only=True)
class Shipping:
    """The parties beside portal and chat: the site, the database, the folder of files."""

    site: Server
    database: MongoServer
    world: World

    @property
    def address(self) -> str:
        """The site's address, as the policy lists it."""
        return f"http://127.0.0.1:{self.site.port}"

    @property
    def file(self) -> Path:
        """The file that the run replaces."""
        return self.world.folder / "files" / "отгрузки" / "Ромашка.txt"

    def build_settings(self, kinds: Sequence[str] = ("file", "telegram", "http", "mongo"), **more: Any) -> dict[str, Any]:
        """Return the settings of the bot beside the usual ones, after writing the files that they name; `more` are keys of the policy."""
        policy = {
            "open_kinds": list(kinds),
            "http_hosts": {self.address: {"title": "Склад", "fields": {**_FIELDS, "deal": "Номер сделки"}}},
            "http_private_hosts": [self.address],
            "mongo_collections": {
                "shipments": {"title": "Отгрузки", "fields": _FIELDS},
                "stock": {"title": "Остатки склада", "fields": _FIELDS},
            },
            **more,
        }
        keys = {"warehouse": {"host": self.address, "prefix": "Bearer ", "key": "WAREHOUSE_TOKEN"}}
        files = {"policy_file": policy, "http_credentials_file": keys}
        for name, content in files.items():
            (self.world.folder / f"{name}.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
        paths = {name: self.world.folder / f"{name}.yaml" for name in files}
        return {**paths, "files_dir": self.world.folder / "files", "mongo_url": self.database.url}

    async def build_engines(self) -> Engines:
        """Return the example engine with the example's definition, in which steps at the site and in the database stand before the end."""
        found = await load_engines().definitions.find("steps", DEFINITION)
        assert found is not None
        *steps, told = deepcopy(found.document["steps"])
        (message,) = (step for step in steps if step["name"] == "склад")
        message["params"]["chat_id"] = f"tg:{self.world.vera.number}"
        return Engines(
            runs={"steps": RegisteredEngine(engine=StepsEngine(), commands={"ship": RunCommand(definition=DEFINITION)})},
            definitions=StaticDefinitions({("steps", DEFINITION): {"steps": [*steps, *self._build_steps(), told]}}),
        )

    def _build_steps(self) -> list[dict[str, Any]]:
        order = {"deal": 481, "client": "Ромашка", "product": "Светильник", "count": "{отгрузка.count}"}
        entry = {"client": "Ромашка", "product": "Светильник", "count": "{отгрузка.count}", "status": "новая"}
        change = {"$inc": {"reserved": "{отгрузка.count}"}, "$set": {"status": "в отгрузке"}}
        query = {"product": "Светильник", "status": {"$ne": "списан"}}
        return [
            {
                "name": "заказ",
                "kind": "http",
                "write": "http.post",
                "params": {"url": f"{self.address}/orders", "json": order, "credential": "warehouse"},
            },
            {"name": "журнал", "kind": "mongo", "write": "mongo.insert_one", "params": {"collection": "shipments", "document": entry}},
            {
                "name": "остатки",
                "kind": "mongo",
                "write": "mongo.update_many",
                "params": {"collection": "stock", "query": query, "update": change},
            },
        ]


@asynccontextmanager
async def a_shipping(world: World) -> AsyncIterator[Shipping]:
    """The parties, with a file that is there already and three entries of the stock, of which the run means two."""
    stock = [
        {"_id": 1, "product": "Светильник", "reserved": 80, "status": "на складе"},
        {"_id": 2, "product": "Светильник", "reserved": 0, "status": "на складе"},
        {"_id": 3, "product": "Светильник", "reserved": 0, "status": "списан"},
    ]
    with patch.dict(os.environ, {"WAREHOUSE_TOKEN": SECRET}):
        async with a_server(reply(_ANSWER, "201 Created")) as site, a_mongo_server() as database:
            made = Shipping(site=site, database=database, world=world)
            made.file.parent.mkdir(parents=True)
            made.file.write_text(BEFORE, encoding="utf-8")
            database.data.stock.insert_many(stock)
            yield made
