"""What the person of the lab asks for, what the model proposes then, and the changes that may come of it. Plain data."""

import json
from dataclasses import dataclass
from typing import Any, Literal

SESSION = "tg:7"
DONE, UNKNOWN, NOT_DONE = "Сделано", "Неясно", "Не вышло"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One input, or several handed in at once (presses). `source` stays the same however often it is offered."""

    sources: tuple[str, ...]
    kind: Literal["message", "approve", "deny", "again"]
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of the portal that the script leads to; `mark` stands in its call and nowhere else."""

    mark: str
    method: str
    denied: bool = False


def _call(method: str, fields: dict[str, Any], number: int | None = None, **more: Any) -> dict[str, Any]:
    params = {"fields": fields} if number is None else {"id": number, "fields": fields}
    return {"method": method, "params": params, "comment": "так попросили", **more}


SUM = "подними сумму сделки 481 до 150001"
FREE = "заведи сделку Осина, задачу Позвонить и комментарий к сделке 482"
BATCH = "поменяй суммы сделок 483 и 484"
DENIED = "поставь сделке 482 сумму 444004"
ADD = "заведи сделку Берёза, но сперва спроси меня"
ONE = "заведи сделку Ольха"

PLANS: dict[str, list[dict[str, Any]]] = {
    SUM: [_call("crm.deal.update", {"OPPORTUNITY": 150001}, 481)],
    FREE: [
        _call("crm.deal.add", {"TITLE": "Осина"}),
        _call("tasks.task.add", {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7}),
        _call("crm.timeline.comment.add", {"ENTITY_ID": 482, "ENTITY_TYPE": "deal", "COMMENT": "Записка"}),
    ],
    BATCH: [
        {
            "method": "batch",
            "params": {
                "halt": 0,
                "cmd": {
                    "a": "crm.deal.update?id=483&fields[OPPORTUNITY]=333003",
                    "b": "crm.deal.update?id=484&fields[OPPORTUNITY]=555005",
                },
            },
            "comment": "так попросили",
        }
    ],
    DENIED: [_call("crm.deal.update", {"OPPORTUNITY": 444004}, 482)],
    ADD: [_call("crm.deal.add", {"TITLE": "Берёза"}, requires_confirmation=True)],
    ONE: [_call("crm.deal.add", {"TITLE": "Ольха"})],
}

CHANGES: dict[str, tuple[Change, ...]] = {
    SUM: (Change(mark="150001", method="crm.deal.update"),),
    FREE: (
        Change(mark="Осина", method="crm.deal.add"),
        Change(mark="Позвонить", method="tasks.task.add"),
        Change(mark="Записка", method="crm.timeline.comment.add"),
    ),
    BATCH: (Change(mark="333003", method="batch"), Change(mark="555005", method="batch")),
    DENIED: (Change(mark="444004", method="crm.deal.update", denied=True),),
    ADD: (Change(mark="Берёза", method="crm.deal.add"),),
    ONE: (Change(mark="Ольха", method="crm.deal.add"),),
}


def _confirmed(name: str, text: str) -> tuple[Step, ...]:
    """A request, two quick presses, and one more when all is over."""
    return (
        Step(sources=(f"{name}/message",), kind="message", text=text),
        Step(sources=(f"{name}/press", f"{name}/press-too"), kind="approve"),
        Step(sources=(f"{name}/press-late",), kind="again"),
    )


SCRIPTS: dict[str, tuple[Step, ...]] = {
    "add": _confirmed("add", ADD),
    "sum": _confirmed("sum", SUM),
    "batch": _confirmed("batch", BATCH),
    "free": (
        Step(sources=("free/message",), kind="message", text=FREE),
        Step(sources=("free/press",), kind="approve"),  # what is left of a plan asks once the outcome of a step is unknown
    ),
    "deny": (
        Step(sources=("deny/message",), kind="message", text=DENIED),
        Step(sources=("deny/press",), kind="deny"),
        Step(sources=("deny/press-late",), kind="again"),
    ),
}
SINGLE = tuple(SCRIPTS)
SCRIPTS["whole"] = tuple(step for name in SINGLE for step in SCRIPTS[name])
SCRIPTS["one"] = (Step(sources=("one/message",), kind="message", text=ONE),)


def changes(script: str) -> list[Change]:
    """Every change that the script may lead to."""
    return [change for step in SCRIPTS[script] if step.text for change in CHANGES[step.text]]


def answer(messages: list[dict[str, str]]) -> tuple[str, int, str]:
    """(what was asked, iteration, the model's answer)."""
    spoken = [item["content"] for item in messages if item["role"] == "user"]
    seen = [text for text in spoken if text.startswith("OBSERVATION ")]
    asked = next(text for text in reversed(spoken) if not text.startswith("OBSERVATION "))
    steps = PLANS[asked] if not seen else []
    said = _report(asked, seen[-1]) if seen else "Сейчас."
    return asked, len(seen) + 1, f"THOUGHT:\nдумаю\nACTION:\n{json.dumps(steps, ensure_ascii=False)}\nASSISTANT:\n{said}"


def _report(asked: str, observation: str) -> str:
    words = {"ok": DONE, "unknown": UNKNOWN}
    lines = [json.loads(line) for line in observation.splitlines() if line.startswith("{")]
    return " ".join(f"{words.get(line['status'], NOT_DONE)}:{CHANGES[asked][line['step'] - 1].mark}" for line in lines)
