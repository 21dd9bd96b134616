"""A scripted portal at the wire: records, a ledger of what took effect, and faults a test orders."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import httpx

CODE = "topsecretcode17"
WEBHOOK = f"https://portal.example/rest/1/{CODE}/"
TYPES = {1: "lead", 2: "deal", 3: "contact", 4: "company"}
STAGES = {
    "DEAL_STAGE": ("NEW", "Новая", "WON", "Успех"),
    "DEAL_STAGE_1": ("C1:NEW", "Заявка", "C1:WON", "Победа"),
    "SOURCE": ("CALL", "Звонок", "WEB", "Веб-сайт"),
    "STATUS": ("NEW", "Новый", "JUNK", "Мусор"),
}
_CLASSIC = re.compile(r"crm\.(deal|lead|contact|company)\.(get|list|add|update|delete)")

Watch = Callable[[str, Mapping[str, Any]], Awaitable[None]]
Fault = Callable[["Portal", str, dict[str, Any]], Awaitable[httpx.Response]]


class PortalError(Exception):
    """The portal says no."""

    def __init__(self, code: str, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.code, self.text, self.status = code, text, status


class Portal:
    """The handler of a mock transport."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, int], dict[str, Any]] = {
            ("deal", 481): deal(481, "Ромашка", "1000000.00", owner=7),
            ("deal", 482): deal(482, "Вектор", "50000.00", owner=7),
            ("deal", 500): deal(500, "Чужая", "700000.00", owner=8),
            ("contact", 43): {"ID": "43", "NAME": "Иван", "LAST_NAME": "Иванов", "ASSIGNED_BY_ID": "7", "COMPANY_ID": "5"},
            ("company", 5): {"ID": "5", "TITLE": "Вектор", "ASSIGNED_BY_ID": "7"},
            ("task", 8017): {
                "id": "8017",
                "title": "Счёт",
                "responsibleId": "7",
                "createdBy": "6",
                "deadline": "2026-12-01T10:00:00+03:00",
                "status": "2",
            },
            ("item:177", 5): {"id": 5, "title": "Договор 5", "assignedById": 7, "opportunity": 100, "entityTypeId": 177},
        }
        self.bindings: list[dict[str, str]] = []
        self.comments = [{"ID": "1", "COMMENT": "звонил клиент", "ENTITY_ID": "481", "ENTITY_TYPE": "deal"}]
        self.activities = [{"ID": "1", "SUBJECT": "Позвонить", "DEADLINE": "2026-12-01T10:00:00+03:00", "COMPLETED": "N", "TYPE_ID": "2"}]
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.ledger: list[tuple[str, dict[str, Any]]] = []
        self.faults: list[tuple[str, str, Fault]] = []
        self.watch: Watch | None = None
        self._next = 9000

    def will(self, method: str, *faults: Fault, holding: str = "") -> None:
        """The next answers to `method` (with that text in its parameters) are these; then it behaves again."""
        self.faults.extend((method, holding, fault) for fault in faults)

    def written(self, method: str = "") -> list[tuple[str, dict[str, Any]]]:
        """What took effect, or that of one method."""
        return [line for line in self.ledger if not method or line[0] == method]

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        method = request.url.path.rpartition("/")[2]
        params = json.loads(request.content)
        self.requests.append((method, params))
        if self.watch is not None:
            await self.watch(method, params)
        due = next((item for item in self.faults if item[0] == method and item[1] in json.dumps(params)), None)
        if due is None:
            return self.answer(method, params)
        self.faults.remove(due)
        return await due[2](self, method, params)

    def answer(self, method: str, params: dict[str, Any]) -> httpx.Response:
        """What a healthy portal says."""
        try:
            result = self.perform(method, params)
        except PortalError as error:
            return httpx.Response(error.status, json={"error": error.code, "error_description": error.text})
        body: dict[str, Any] = {"result": result, "time": {"operating": 0}}
        if method.endswith(".list"):
            body["total"] = len(next(iter(result.values())) if isinstance(result, dict) else result)
        return httpx.Response(200, json=body)

    def perform(self, method: str, params: dict[str, Any]) -> Any:
        """Carry a call out; what changes something goes into the ledger."""
        if method == "batch":
            return self._batch(params)
        if method.endswith((".fields", ".getFields")):  # this portal keeps no list of fields, so nothing is checked against one
            raise PortalError("ERROR_METHOD_NOT_FOUND", "Method not found!", 404)
        if classic := _CLASSIC.fullmatch(method):
            return self._classic(classic[1], classic[2], method, params)
        if method.startswith("crm.item."):
            return self._item(method, params)
        if method.startswith("tasks.task."):
            return self._task(method, params)
        if method.startswith("event."):
            return self._event(method, params)
        if method.startswith("crm.timeline.comment."):
            return self._comment(method, params)
        return self._reference(method, params)

    def _comment(self, method: str, params: dict[str, Any]) -> Any:
        if method.endswith(".list"):
            return list(self.comments)
        if method.endswith(".get"):
            return self._found("comment", params["id"])
        number = self._made(method, params)
        if method.endswith(".delete"):
            return self._found("comment", params["id"]) is not None
        self.records["comment", number] = {**params["fields"], "ID": str(number), "AUTHOR_ID": "1"}
        return number

    def _reference(self, method: str, params: dict[str, Any]) -> Any:
        match method:
            case "crm.category.list":
                return {"categories": [{"id": 0, "name": "Общая"}, {"id": 1, "name": "Тендеры"}]}
            case "crm.status.list":
                first, name, last, end = STAGES[params["filter"]["ENTITY_ID"]]
                return [{"STATUS_ID": first, "NAME": name, "SORT": "10"}, {"STATUS_ID": last, "NAME": end, "SORT": "20"}]
            case "user.get":
                return [user(6, "Вера", "Белова"), user(7, "Анна", "Ковалёва"), user(8, "Борис", "Седов"), user(9, "Анна", "Уварова")]
            case "crm.deal.contact.items.get":
                return [{"CONTACT_ID": 43, "SORT": 10, "ROLE_ID": 0, "IS_PRIMARY": "Y"}]
            case "crm.activity.list":
                return list(self.activities)
            case "crm.activity.todo.add":
                return {"id": self._made(method, params)}
        raise PortalError("ERROR_METHOD_NOT_FOUND", "Method not found!", 404)

    def _made(self, method: str, params: dict[str, Any]) -> int:
        self.ledger.append((method, params))
        self._next += 1
        return self._next

    def _found(self, kind: str, number: Any) -> dict[str, Any]:
        record = self.records.get((kind, int(number)))
        if record is None:
            raise PortalError("", "Not found")
        return record

    def _classic(self, kind: str, verb: str, method: str, params: dict[str, Any]) -> Any:
        if verb == "list":
            return [record for (name, _), record in self.records.items() if name == kind and fits(record, params.get("filter") or {})]
        if verb == "add":
            number = self._made(method, params)
            self.records[kind, number] = {"ID": str(number), **params["fields"]}
            return number
        record = self._found(kind, params.get("id") or params.get("ID"))
        if verb == "get":
            return record
        self.ledger.append((method, params))
        if verb == "delete":
            del self.records[kind, int(params["id"])]
        else:
            record.update(params["fields"])
        return True

    def _item(self, method: str, params: dict[str, Any]) -> Any:
        kind = TYPES.get(int(params["entityTypeId"]), f"item:{params['entityTypeId']}")
        verb = method.rpartition(".")[2]
        if verb == "list":
            return {
                "items": [record for (name, _), record in self.records.items() if name == kind and fits(record, params.get("filter") or {})]
            }
        if verb == "add":
            number = self._made(method, params)
            self.records[kind, number] = {"id": number, **params["fields"]}
            return {"item": self.records[kind, number]}
        record = self._found(kind, params["id"])
        if verb == "get":
            return {"item": record}
        self.ledger.append((method, params))
        if verb == "delete":
            del self.records[kind, int(params["id"])]
            return []
        upper = any(key.isupper() for key in record)
        record.update({_upper(key) if upper else key: value for key, value in params["fields"].items()})
        return {"item": record}

    def _task(self, method: str, params: dict[str, Any]) -> Any:
        verb = method.rpartition(".")[2]
        if verb == "list":
            return {"tasks": [record for (name, _), record in self.records.items() if name == "task"]}
        if verb == "add":
            number = self._made(method, params)
            self.records["task", number] = {"id": str(number), **{_camel(key): value for key, value in params["fields"].items()}}
            return {"task": self.records["task", number]}
        record = self.records.get(("task", int(params["taskId"])))
        if verb == "get":
            return {"task": record} if record else []
        if record is None:
            raise PortalError("", "Task not found")
        self.ledger.append((method, params))
        if verb == "delete":
            del self.records["task", int(params["taskId"])]
        else:
            record.update({_camel(key): value for key, value in params["fields"].items()})
        return {"task": True}

    def _event(self, method: str, params: dict[str, Any]) -> Any:
        if method == "event.get":
            return list(self.bindings)
        self.ledger.append((method, params))
        pair = {"event": params["event"].upper(), "handler": params["handler"]}
        if method == "event.bind":
            self.bindings.append(pair)
            return True
        before = len(self.bindings)
        self.bindings = [item for item in self.bindings if item != pair]
        return {"count": before - len(self.bindings)}

    def _batch(self, params: dict[str, Any]) -> Any:
        results: dict[str, Any] = {}
        errors: dict[str, Any] = {}
        for key, text in params["cmd"].items():
            method, _, query = text.partition("?")
            try:
                results[key] = self.perform(method, php(query))
            except PortalError as error:
                errors[key] = {"error": error.code, "error_description": error.text}
                if int(params.get("halt") or 0):
                    break
        return {"result": results or [], "result_error": errors or [], "result_total": [], "result_next": [], "result_time": []}


def deal(number: int, title: str, amount: str, *, owner: int) -> dict[str, Any]:
    """A deal as crm.deal.get shows it."""
    return {
        "ID": str(number),
        "TITLE": title,
        "OPPORTUNITY": amount,
        "CURRENCY_ID": "RUB",
        "STAGE_ID": "NEW",
        "CATEGORY_ID": "0",
        "ASSIGNED_BY_ID": str(owner),
        "CONTACT_ID": "43",
        "COMPANY_ID": "5",
        "COMMENTS": "",
        "CLOSED": "N",
    }


def user(number: int, name: str, surname: str) -> dict[str, Any]:
    """An employee."""
    return {"ID": str(number), "NAME": name, "LAST_NAME": surname, "ACTIVE": True, "WORK_POSITION": "менеджер"}


def fits(record: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """A small part of the portal's filters: equality, lists, substrings, whole numbers above one."""
    by_name = {key.lower().replace("_", ""): value for key, value in record.items()}
    for key, value in wanted.items():
        sign, name = re.match(r"([=@%!<>]*)(.*)", key).groups()  # type: ignore[union-attr]
        have = str(by_name.get(name.lower().replace("_", ""), ""))
        value = list(value.values()) if isinstance(value, dict) else value  # noqa: PLW2901 - a list in the query text of a batch
        if sign == ">" and have.isdecimal() and int(have) <= int(value):
            return False
        if sign == "%" and str(value).lower() not in have.lower():
            return False
        if sign in {"", "=", "@"} and have not in [str(item) for item in (value if isinstance(value, list) else [value])]:
            return False
    return True


def php(query: str) -> dict[str, Any]:
    """Bracketed query text as PHP reads it, as far as tests need it."""
    made: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        head, *rest = re.findall(r"[^\[\]]+", name)
        place = made
        for part, after in zip([head, *rest], rest, strict=False):
            place = place.setdefault(part, {})
            head = after
        place[head] = value
    return made


def _camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(part.capitalize() for part in rest)


def _upper(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


async def lost(portal: Portal, method: str, params: dict[str, Any]) -> httpx.Response:
    """It happened, and the answer was lost."""
    portal.answer(method, params)
    msg = "connection reset"
    raise httpx.ReadError(msg)


async def cut(portal: Portal, method: str, params: dict[str, Any]) -> httpx.Response:
    """It did not happen, and nobody can tell."""
    msg = "timed out"
    raise httpx.ReadTimeout(msg)


async def unreachable(portal: Portal, method: str, params: dict[str, Any]) -> httpx.Response:
    """It was never sent."""
    msg = "no route"
    raise httpx.ConnectError(msg)


async def html(portal: Portal, method: str, params: dict[str, Any]) -> httpx.Response:
    """A page of a proxy."""
    return httpx.Response(502, html="<html>Bad gateway</html>")


def says(status: int, body: Any) -> Fault:
    """This very answer."""

    async def answer(portal: Portal, method: str, params: dict[str, Any]) -> httpx.Response:
        return httpx.Response(status, json=body)

    return answer


class Held:
    """A call that hangs on the wire until released."""

    def __init__(self) -> None:
        self.arrived = asyncio.Event()
        self.release = asyncio.Event()

    async def __call__(self, portal: Portal, method: str, params: dict[str, Any]) -> httpx.Response:
        self.arrived.set()
        await self.release.wait()
        return portal.answer(method, params)
