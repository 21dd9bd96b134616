"""What the person of the lab asks for and does, what the model proposes then, and the changes that may come of it. Plain data."""

import json
from dataclasses import dataclass
from typing import Any, Literal

SESSION = "tg:7"
DONE, UNKNOWN, NOT_DONE = "Сделано", "Неясно", "Не вышло"

Kind = Literal[
    "voice",  # spoken
    "message",  # said; with several sources a paste in pieces, and what is said right after it
    "approve",  # pressed on every card that waits
    "deny",
    "apart",  # of the steps on one card the last alone is denied, or the first alone approved: `text` says which
    "again",  # pressed on every card, whatever became of it
    "presses",  # several presses at once, as `text` says
    "meanwhile",  # the same, but the later ones while the call of the first is held on its way
    "redelivered",  # every press of that part handed in once more, as a messenger does that heard no acknowledgement
    "typed",  # «да»
    "choose",  # the first of the buttons under a question, or the last
    "stopped",  # said, and a moment later /stop
    "forwarded",  # a message of somebody else, without a word about it
    "button",  # a button of a feature pressed under every card or answer that has it: `text` is its first word
    "value",  # the reply to the question of an edit
    "overtaken",  # the same, and the old card is pressed while the portal is asked about the new value
    "overtaking",  # the old card is pressed, and while its call is on its way the new value is said
    "reason",  # what a lead writes in their own chat
    "later",  # so many seconds pass
    "portal",  # somebody changes a record in the portal
    "event",  # the portal tells of that
    "fill",  # the disk is full but for so many bytes
    "tried",  # said or pressed while it is full: nobody waits for an end
    "free",  # there is room again
]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that happens. `source` stays the same however often an input is offered."""

    sources: tuple[str, ...]
    kind: Kind
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of the portal that the script leads to; `mark` stands in its call and nowhere else."""

    mark: str
    method: str
    denied: bool = False
    avoidable: bool = False
    """The person may come to prevent it altogether."""
    drifts: bool = False
    """What the card shows is changed in the portal before the press."""


def _call(method: str, fields: dict[str, Any], number: int | str | None = None, **more: Any) -> dict[str, Any]:
    params = {"fields": fields} if number is None else {"id": number, "fields": fields}
    return {"method": method, "params": params, "comment": "так попросили", **more}


SUM = "подними сумму сделки 481 до 150001"
FREE = "заведи сделку Осина, поставь задачу Позвонить и добавь комментарий к сделке 482"
BATCH = "поменяй суммы сделок 483 и 484"
DENIED = "поставь сделке 482 сумму 444004"
ADD = "заведи сделку Берёза, но сперва спроси меня"
ONE = "заведи сделку Ольха"
CHOICE = "подними сумму сделки Двойник до 150003"
STOPPED = "заведи сделку Пихта и заведи сделку Кедр"
EXPIRED = "поставь сделке 484 сумму 160004"
DRIFTED = "поставь сделке 483 сумму 170007"
TYPED = "поставь сделке 482 сумму 180008"
PASTED = "Заведи сделку по письму:"
SPOKEN = "поставь сделке 484 сумму 210011"
FILLED = "поставь сделке 481 сумму 190009"
REST = "конец письма"
_PAST = "ж" * 4096

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
                "cmd": {"a": "crm.deal.update?id=483&fields[OPPORTUNITY]=333003", "b": "crm.deal.update?id=484&fields[OPPORTUNITY]=555005"},
            },
            "comment": "так попросили",
        }
    ],
    DENIED: [_call("crm.deal.update", {"OPPORTUNITY": 444004}, 482)],
    ADD: [_call("crm.deal.add", {"TITLE": "Берёза"}, requires_confirmation=True)],
    ONE: [_call("crm.deal.add", {"TITLE": "Ольха"})],
    CHOICE: [_call("crm.deal.update", {"OPPORTUNITY": 150003}, "@deal:Двойник")],
    STOPPED: [_call("crm.deal.add", {"TITLE": "Пихта"}), _call("crm.deal.add", {"TITLE": "Кедр"})],
    EXPIRED: [_call("crm.deal.update", {"OPPORTUNITY": 160004}, 484)],
    DRIFTED: [_call("crm.deal.update", {"OPPORTUNITY": 170007}, 483)],
    TYPED: [_call("crm.deal.update", {"OPPORTUNITY": 180008}, 482)],
    PASTED: [_call("crm.deal.add", {"TITLE": "Клён"}, requires_confirmation=True)],
    SPOKEN: [_call("crm.deal.update", {"OPPORTUNITY": 210011}, 484)],
    FILLED: [_call("crm.deal.update", {"OPPORTUNITY": 190009}, 481)],
}

_UPDATE, _ADD = "crm.deal.update", "crm.deal.add"
CHANGES: dict[str, tuple[Change, ...]] = {
    SUM: (Change(mark="150001", method=_UPDATE),),
    FREE: (
        Change(mark="Осина", method=_ADD),
        Change(mark="Позвонить", method="tasks.task.add"),
        Change(mark="Записка", method="crm.timeline.comment.add"),
    ),
    BATCH: (Change(mark="333003", method="batch"), Change(mark="555005", method="batch")),
    DENIED: (Change(mark="444004", method=_UPDATE, denied=True),),
    ADD: (Change(mark="Берёза", method=_ADD),),
    ONE: (Change(mark="Ольха", method=_ADD),),
    CHOICE: (Change(mark="150003", method=_UPDATE),),
    STOPPED: (Change(mark="Пихта", method=_ADD, avoidable=True), Change(mark="Кедр", method=_ADD, avoidable=True)),
    EXPIRED: (Change(mark="160004", method=_UPDATE),),
    DRIFTED: (Change(mark="170007", method=_UPDATE, drifts=True),),
    TYPED: (Change(mark="180008", method=_UPDATE),),
    PASTED: (Change(mark="Клён", method=_ADD),),
    SPOKEN: (Change(mark="210011", method=_UPDATE),),
    FILLED: (Change(mark="190009", method=_UPDATE),),
}
MORE: dict[str, tuple[Change, ...]] = {}
"""By script: changes that come of no request of their own."""
NEXT: dict[str, tuple[list[dict[str, Any]], ...]] = {}
"""By request: what the model proposes after the results of its first plan, and then after those of each further one."""


def _said(name: str, text: str, kind: Kind = "message") -> Step:
    return Step(sources=(f"{name}/message",), kind=kind, text=text)


def _confirmed(name: str, text: str) -> tuple[Step, ...]:
    """A request, two quick presses, and one more when all is over."""
    return (
        _said(name, text),
        Step(sources=(f"{name}/press", f"{name}/press-too"), kind="approve"),
        Step(sources=(f"{name}/press-late",), kind="again"),
    )


SCRIPTS: dict[str, tuple[Step, ...]] = {
    "add": _confirmed("add", ADD),
    "sum": _confirmed("sum", SUM),
    "batch": _confirmed("batch", BATCH),
    "free": (
        _said("free", FREE),
        Step(sources=("free/press",), kind="approve"),  # what is left of a plan asks once the outcome of a step is unknown
    ),
    "deny": (_said("deny", DENIED), Step(sources=("deny/press",), kind="deny"), Step(sources=("deny/press-late",), kind="again")),
}
SINGLE = tuple(SCRIPTS)
SCRIPTS["whole"] = tuple(step for name in SINGLE for step in SCRIPTS[name])
SCRIPTS["one"] = (_said("one", ONE),)

TURNS: dict[str, tuple[Step, ...]] = {
    "choice": (
        _said("choice", CHOICE),
        Step(sources=("choice/chosen",), kind="choose"),
        Step(sources=("choice/press", "choice/press-too"), kind="approve"),
    ),
    "stop": (
        Step(sources=("stop/message", "stop/stop"), kind="stopped", text=STOPPED),
        Step(sources=("stop/press",), kind="approve"),  # as in "free": after an unknown step the rest of the plan asks
        _said("one", ONE),
    ),
    "expired": (
        _said("expired", EXPIRED),
        Step(sources=("expired/day",), kind="later", text="90000"),
        Step(sources=("expired/press",), kind="again"),
    ),
    "drift": (
        _said("drift", DRIFTED),
        Step(sources=("drift/portal",), kind="portal", text='{"deal": 483, "OPPORTUNITY": "2000.00"}'),
        Step(sources=("drift/press", "drift/press-too"), kind="approve"),
        Step(sources=("drift/press-new",), kind="approve"),
    ),
    "voice": (_said("voice", SPOKEN, "voice"), Step(sources=("voice/press", "voice/press-too"), kind="approve")),
    "typed": (_said("typed", TYPED), Step(sources=("typed/yes",), kind="typed")),
    "event": (
        Step(sources=("event/first",), kind="event", text="484"),
        Step(sources=("event/look",), kind="later", text="20"),
        Step(sources=("event/portal",), kind="portal", text='{"deal": 484, "OPPORTUNITY": "7654321.00"}'),
        Step(sources=("event/second", "event/third"), kind="event", text="484"),
        Step(sources=("event/look-again",), kind="later", text="20"),
    ),
    "paste": (
        Step(sources=("paste/message", "paste/rest", "paste/one"), kind="message", text="\0".join((f"{PASTED}\n{_PAST}", REST, ONE))),
        Step(sources=("paste/press", "paste/press-too"), kind="approve"),
    ),
}
"""Turns that end or begin in other ways than by a message and a press."""
SCRIPTS.update(TURNS)
SCRIPTS["filled"] = (
    _said("filled", FILLED),
    Step(sources=("filled/fill",), kind="fill"),
    Step(sources=("filled/press", "filled/press-too"), kind="tried", text="approve"),
    Step(sources=("one/message",), kind="tried", text=ONE),
    Step(sources=("filled/free",), kind="free"),
    Step(sources=("filled/press", "filled/press-too"), kind="again"),
    _said("one", ONE),
)

PATTERNS = {
    "twice": ("presses", "y y"),
    "thrice": ("presses", "y y y"),
    "one after the other": ("presses", "y;y"),
    "same callback": ("presses", "y = ="),
    "yes and no": ("presses", "y n"),
    "no and yes": ("presses", "n y"),
    "no, no, yes": ("presses", "n n y"),
    "yes, then no": ("presses", "y;n;y"),
    "another chat": ("presses", "y@8 y y@8"),
    "a lead too": ("presses", "y@lead y"),
    "a lead against": ("presses", "n@lead y y@lead"),
    "a colleague": ("presses", "y@colleague y n@colleague"),
    "a forged nonce": ("presses", "y@forged n@forged y"),
    "during the call": ("meanwhile", "y y n"),
    "during, by a lead": ("meanwhile", "y y@lead y"),
    "redelivered": ("presses", "y y"),
}
"""How one card is pressed: one token a press, `;` between what is handed in one after the other."""


def _pressed(number: int, kind: Kind, text: str, more: tuple[Step, ...]) -> tuple[Step, ...]:
    name, asked = f"p{number}", f"поставь сделке 481 сумму {70000 + number}"
    PLANS[asked] = [_call(_UPDATE, {"OPPORTUNITY": 70000 + number}, 481)]
    CHANGES[asked] = (Change(mark=str(70000 + number), method=_UPDATE),)
    return (_said(name, asked), Step(sources=(f"{name}/press",), kind=kind, text=text), *more)


def _again(number: int, name: str) -> tuple[Step, ...]:
    redelivered = Step(sources=(f"p{number}/press-redelivered",), kind="redelivered")
    return (redelivered,) if name == "redelivered" else (Step(sources=(f"p{number}/press-late",), kind="again"),)


for _half, _names in enumerate((list(PATTERNS)[::2], list(PATTERNS)[1::2])):
    SCRIPTS[f"presses-{_half}"] = tuple(
        step
        for _number, _name in enumerate(_names)
        for step in _pressed(10 * _half + _number, *PATTERNS[_name], _again(10 * _half + _number, _name))  # type: ignore[arg-type]
    )
PRESSES = ("presses-0", "presses-1")


def changes(script: str) -> list[Change]:
    """Every change that the script may lead to."""
    asked = dict.fromkeys(text for step in SCRIPTS[script] for text in _texts(step))
    return [*(change for text in asked for change in CHANGES[text]), *MORE.get(script, ())]


def _texts(step: Step) -> list[str]:
    if step.kind not in {"message", "voice", "stopped", "tried"} or step.text == "approve":
        return []
    return [_known(text) for text in step.text.split("\0") if text != REST]


def _known(said: str) -> str:
    """The request that begins so: what was pasted under it comes along."""
    return next(text for text in PLANS if said.startswith(text))


def answer(messages: list[dict[str, str]]) -> tuple[str, int, str]:
    """(what was asked, iteration, the model's answer)."""
    spoken = [item["content"] for item in messages if item["role"] == "user"]
    seen = [text for text in spoken if text.startswith("OBSERVATION ")]
    asked = _known(next(text for text in reversed(spoken) if not text.startswith("OBSERVATION ")))
    plans = (PLANS[asked], *NEXT.get(asked, ()))
    steps = plans[len(seen)] if len(seen) < len(plans) else []
    said = _report(asked, seen[-1], sum(map(len, plans[: len(seen) - 1]))) if seen else "Сейчас."
    return asked, len(seen) + 1, f"THOUGHT:\nдумаю\nACTION:\n{json.dumps(steps, ensure_ascii=False)}\nASSISTANT:\n{said}"


def _report(asked: str, observation: str, before: int) -> str:
    """What came of the last plan, step by step; `before` is how many steps the plans before it had.

    Nothing of a step that led to none of the request's changes: the person may have written another value, in time or too late.
    """
    words = {"ok": DONE, "unknown": UNKNOWN}
    lines = [json.loads(line) for line in observation.splitlines() if line.startswith("{")]
    changes = CHANGES[asked][before:]
    return " ".join(
        f"{words.get(line['status'], NOT_DONE)}:{changes[line['step'] - 1].mark}" for line in lines if line["step"] <= len(changes)
    )
