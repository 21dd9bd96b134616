"""Turns that go on after their cards: what is asked for, what the model proposes after the decision, and what must come of it.

Plain data, put into the tables of `lab_script`.
"""

from tests.crash.lab_flows import FLOWS as OTHERS
from tests.crash.lab_flows import Flow, _approved, _press, _step
from tests.crash.lab_script import CHANGES, MORE, NEXT, PLANS, SCRIPTS, Change, Step, _call, _confirmed, _said

_UPDATE, _ADD, _TASK = "crm.deal.update", "crm.deal.add", "tasks.task.add"

IN_TURN = "поставь сделке 481 сумму 310031, потом сделке 482 сумму 311032"
WITH_TASKS = "поставь задачу Позвать, подними сумму сделки 483 до 320033, а потом поставь задачу Вернуться"
BOTH = "поставь сделкам 483 и 484 суммы 330034 и 331035, а потом сделке 481 сумму 332036"
APART = "поставь сделкам 481 и 482 суммы 340037 и 341038, а потом сделке 483 сумму 342044"
NO_THEN = "поставь сделке 482 сумму 350039, а потом сделке 484 сумму 351040"
CHOSEN = "подними сумму сделки Двойник до 360041, потом поставь задачу Проверить"
CHANGED = "поставь сделке 481 сумму 370042, потом поставь задачу Уточнить"
LEADS = "поставь сделке 482 сумму 2900043, потом поставь задачу Доложить"


def _task(title: str) -> dict[str, object]:
    return _call(_TASK, {"TITLE": title, "RESPONSIBLE_ID": 7})


def _update(mark: str, **more: bool) -> Change:
    return Change(mark=mark, method=_UPDATE, **more)


def _added(title: str, **more: bool) -> Change:
    return Change(mark=title, method=_TASK, **more)


PLANS |= {
    IN_TURN: [_call(_UPDATE, {"OPPORTUNITY": 310031}, 481)],
    WITH_TASKS: [_task("Позвать"), _call(_UPDATE, {"OPPORTUNITY": 320033}, 483)],
    BOTH: [_call(_UPDATE, {"OPPORTUNITY": 330034}, 483), _call(_UPDATE, {"OPPORTUNITY": 331035}, 484)],
    APART: [_call(_UPDATE, {"OPPORTUNITY": 340037}, 481), _call(_UPDATE, {"OPPORTUNITY": 341038}, 482)],
    NO_THEN: [_call(_UPDATE, {"OPPORTUNITY": 350039}, 482)],
    CHOSEN: [_call(_UPDATE, {"OPPORTUNITY": 360041}, "@deal:Двойник")],
    CHANGED: [_call(_UPDATE, {"OPPORTUNITY": 370042}, 481)],
    LEADS: [_call(_UPDATE, {"OPPORTUNITY": 2900043}, 482)],
}
NEXT |= {
    IN_TURN: ([_call(_UPDATE, {"OPPORTUNITY": 311032}, 482)],),
    WITH_TASKS: ([_task("Вернуться")],),
    BOTH: ([_call(_UPDATE, {"OPPORTUNITY": 332036}, 481)],),
    APART: ([_call(_UPDATE, {"OPPORTUNITY": 342044}, 483)],),
    NO_THEN: ([_call(_UPDATE, {"OPPORTUNITY": 351040}, 484)],),
    CHOSEN: ([_task("Проверить")],),
    CHANGED: ([_task("Уточнить")],),
    LEADS: ([_task("Доложить")],),
}
CHANGES |= {
    IN_TURN: (_update("310031"), _update("311032")),
    WITH_TASKS: (_added("Позвать"), _update("320033"), _added("Вернуться", avoidable=True)),  # never after a step of unknown outcome
    BOTH: (_update("330034"), _update("331035"), _update("332036")),
    APART: (_update("340037"), _update("341038", denied=True), _update("342044")),
    NO_THEN: (_update("350039", denied=True), _update("351040")),
    CHOSEN: (_update("360041"), _added("Проверить")),
    CHANGED: (_update("371042"), _added("Уточнить")),
    LEADS: (_update("2900043"), _added("Доложить")),
}

GOING_ON: dict[str, Flow] = {
    "go-on": Flow(
        steps=(*_confirmed("go-on", IN_TURN)[:2], _approved("go-on", "press-next"), Step(sources=("go-on/press-late",), kind="again")),
        written=("310031", "311032"),
        record=(482, "311032"),
    ),
    "go-on-free": Flow(
        steps=(*_confirmed("free-on", WITH_TASKS)[:2], Step(sources=("free-on/press-more",), kind="approve")),
        written=("Позвать", "320033", "Вернуться"),
    ),
    "go-on-both": Flow(
        steps=(*_confirmed("both", BOTH)[:2], _approved("both", "press-next"), Step(sources=("both/press-late",), kind="again")),
        written=("330034", "331035", "332036"),
        record=(481, "332036"),
    ),
    "go-on-apart": Flow(
        steps=(
            _said("apart", APART),
            Step(sources=("apart/press-no",), kind="apart", text="deny"),
            Step(sources=("apart/press-yes",), kind="apart", text="approve"),
            Step(sources=("apart/press-more",), kind="approve"),
        ),
        written=("340037", "342044"),
        record=(483, "342044"),
    ),
    "go-on-denied": Flow(
        steps=(_said("no-then", NO_THEN), Step(sources=("no-then/press",), kind="deny"), _approved("no-then", "press-next")),
        written=("351040",),
        never=("350039",),
    ),
    "go-on-choice": Flow(
        steps=(
            _said("chosen", CHOSEN),
            Step(sources=("chosen/chosen",), kind="choose"),
            _approved("chosen"),
            Step(sources=("chosen/press-more",), kind="approve"),
        ),
        written=("360041", "Проверить"),
    ),
    "go-on-edit": Flow(
        steps=(
            _said("change", CHANGED),
            _press("change", "edit"),
            _step("change/value", "value", "371042"),
            _approved("change"),
            Step(sources=("change/press-more",), kind="approve"),
        ),
        written=("371042", "Уточнить"),
        never=("370042",),
        record=(481, "371042"),
    ),
    "go-on-lead": Flow(
        steps=(
            _said("leads", LEADS),
            Step(sources=("leads/press",), kind="presses", text="y@lead y"),
            Step(sources=("leads/press-more",), kind="approve"),
        ),
        written=("2900043", "Доложить"),
        staffed=True,
    ),
}
FLOWS: dict[str, Flow] = OTHERS | GOING_ON
STAFFED = frozenset(name for name, flow in FLOWS.items() if flow.staffed)

SCRIPTS |= {name: flow.steps for name, flow in GOING_ON.items()}
MORE |= {name: flow.more for name, flow in GOING_ON.items()}
