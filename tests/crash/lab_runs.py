"""What the lab's runs do (executions of definitions by an engine), and how their person answers them. Plain data.

The person of a run is no script of steps: whatever is on the screen is answered by the rules of its way, so that it goes on after a death at
any moment. `lab_run_person` acts by these rules, and `lab_run_checks` judges what came of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.crash.lab_script import ADD, ONE
from tests.unit.engines.flows.acting_flow import QUESTIONS, build_acting_flow
from tests.unit.engines.workflows import acting_workflow

SLEEP = 60.0
SHORT_SLEEP = 0.3
"""Of two processes neither puts its clock forward: what sleeps is really waited for."""
DEAL = "crm.deal.update"
OPERATIONS = [{"method": DEAL, "params": {"id": 481, "fields": {"OPPORTUNITY": 390012}}, "comment": "Бюджет вырос"}]
"""What the agent of the flow proposes."""


def _steps(*given: Mapping[str, Any]) -> dict[str, Any]:
    return {"steps": [{"name": f"s{number}", **one} for number, one in enumerate(given)]}


def _write(deal: int, mark: int) -> dict[str, Any]:
    return {"write": DEAL, "params": {"id": deal, "fields": {"OPPORTUNITY": mark}}}


def _build_scenario(sleep: float) -> dict[str, Any]:
    """A scenario with a question, the model, a write with a card, a child and a timer, and steps that store nothing between them."""
    params = {"method": DEAL, "params": {"id": 481, "fields": {"OPPORTUNITY": 380011}}, "confirm": True}
    return {
        "name": "Продажа",
        "initial_context": {"count": 1},
        "steps": [
            {"type": "message", "params": {"text": "Начинаю продажу"}},
            {"id": "ask", "type": "input", "params": {"prompt": "Какой пакет?", "input_variable": "plan", "buttons": ["Малый", "Большой"]}},
            {"type": "update_context", "params": {"updates": {"count": 2, "more": {"plan": "{plan}"}}}},
            {"type": "branch", "condition": "plan == 'Большой'", "branches": {"if": "big", "else": "ask"}},
            {"id": "big", "type": "message", "params": {"text": "Пакет {more.plan}, {count}"}},
            {"type": "llm_request", "params": {"prompt": "пакет {plan}", "output_var": "advice"}},
            {"type": "log_message", "params": {"message": "{advice}"}},
            {"type": "bitrix_call", "params": params},
            {"type": "message", "params": {"text": "Сумма записана"}},
            {
                "type": "execute_sub_scenario",
                "params": {"sub_scenario_id": "after", "input_parameters": {"p": "{plan}"}, "output_mapping": ["won"]},
            },
            {"type": "wait", "params": {"seconds": sleep}},
            {"type": "message", "params": {"text": "{won}: {advice}"}},
        ],
    }


_AFTER = {
    "name": "После продажи",
    "steps": [
        {"type": "llm_request", "params": {"prompt": "после {p}", "output_var": "won"}},
        {"type": "message", "params": {"text": "Внутри {p}"}},
    ],
}


def build_documents(sleep: float) -> dict[tuple[str, str], Any]:
    """Return the definitions by (engine, key); a step that sleeps does so for this many seconds."""
    return {
        ("scenario", "sale"): _build_scenario(sleep),
        ("scenario", "after"): _AFTER,
        ("flow", "act"): build_acting_flow(),
        ("workflow", "weave"): acting_workflow.build_acting_workflow(10013, 20014),
        ("steps", "begin"): _steps({"child": "act", "engine": "flow"}, {"say": "После потока"}),
        ("steps", "plan"): _steps(
            {"say": "Начинаю план"},
            {"ask": "Какой тариф?", "options": ["Базовый", "Полный"]},
            {"model": "тариф {s1}"},
            _write(481, 310001),
            {"sleep": sleep},
            {"child": "inner"},
            {"say": "Конец плана"},
        ),
        ("steps", "outer"): _steps({"child": "inner"}, {"say": "Снаружи"}),
        ("steps", "inner"): _steps({"model": "внутри"}, {"say": "Внутри"}),
        ("fan", "fan"): {"things": ["а", "б", "в", "г"], "prompt": "{thing}?", "summary": "итог {answers}"},
        ("wide", "wide"): {
            "cards": [[481, 320002], [482, 320003]],
            "models": ["раз", "два"],
            "sleep": sleep,
            "child": "leaf",
            "ask": "Кто?",
        },
        ("steps", "leaf"): _steps({"model": "лист"}, {"say": "Лист"}),
        ("steps", "parent"): _steps({"child": "writes"}, {"say": "Дитя справилось"}),
        ("steps", "writes"): _steps(_write(483, 320004), {"say": "Записано"}),
        ("steps", "long"): _steps({"say": "Долго"}, {"model": "держи"}, _write(484, 330005), {"say": "Не будет"}),
        ("wide", "broad"): {"cards": [[481, 330006]], "models": ["три"], "sleep": 86400.0, "child": "asks", "ask": "Ждать?"},
        ("steps", "asks"): _steps({"ask": "И ты?", "options": ["Да"]}, {"say": "Не скажу"}),
        ("steps", "late"): _steps({"model": "до срока"}, _write(482, 340007), {"say": "Срок прошёл"}),
        ("steps", "again"): _steps({"model": "до отказа"}, _write(483, 350008), {"model": "после отказа"}, {"say": "Со второго раза"}),
        ("steps", "denied"): _steps(_write(484, 360009), {"say": "Не скажу"}),
        ("steps", "words"): _steps({"ask": "Как вас зовут?"}, {"model": "имя {s0}"}, {"say": "Здравствуйте"}),
        ("steps", "side"): _steps(
            {"ask": "Сбоку?", "options": ["Да", "Нет"]}, {"model": "сбоку"}, _write(482, 370010), {"say": "Сбоку всё"}
        ),
        ("steps", "other"): _steps({"model": "рядом"}, {"sleep": sleep}, {"say": "Рядом всё"}),
        ("steps", "turn"): _steps({"turn": ADD}, {"say": "После хода"}),
        ("steps", "pause"): _steps({"ask": "Дальше?", "options": ["Да"]}, {"model": "дальше"}, {"say": "Пауза была"}),
        ("steps", "silent"): _steps({"ask": "Есть кто?", "options": ["Да"], "timeout": sleep}, {"model": "никого"}, {"say": "Никого"}),
        ("steps", "ten"): _steps(*({"model": f"десять {number}"} for number in range(12)), {"say": "Десять раз"}),
        ("steps", "stairs"): _steps(*({"model": f"ступень {number}"} for number in range(700)), {"say": "Наверху"}),
    }


@dataclass(frozen=True, kw_only=True)
class Way:
    """One set of runs and what their person does; what is not mentioned is not answered."""

    starts: Sequence[str]
    """Commands ("/steps plan") and requests to the CRM agent that are said at the beginning, one right after the other."""
    runs: Mapping[str, str]
    """definition → the status in which each of its runs ends; there is one run of each."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """The text of a question → the numbers of the buttons that are pressed, or "=" and what is typed."""
    cards: Mapping[str, str] = field(default_factory=dict)
    """The mark of a write → what is pressed on its card: "y", "n", several at once, "expired y" once a card of it has run out, "cancelled y" once
    the run is cancelled."""
    cancels: str = ""
    """A run is cancelled with the button of /runs: "held" while the model works, otherwise when this many questions and cards are open."""
    pauses: str = ""
    """At this question the run is paused, and resumed before it is answered."""
    refuses: str = ""
    """The method that the portal refuses until a run has failed."""
    retries: bool = True
    """Whether «Повторить» is pressed under each message that a run has failed."""
    written: Mapping[str, int] = field(default_factory=dict)
    at_most_once: tuple[str, ...] = ()
    """Writes of the CRM agent, beside the runs or within one: what a death has left undone it does not make up for by itself."""
    asked: tuple[str, ...] = ()
    """The questions to the model that have been asked at the end; others may have been asked, too, if there are none."""
    said: Mapping[str, int] = field(default_factory=dict)
    """How often exactly a text is said, in messages of their own."""
    shared: bool = True
    """Whether two processes can play it: not if a clock must be put forward, or if each would hold the other's questions to the model."""


WAYS: dict[str, Way] = {
    "run-plan": Way(
        starts=["/steps plan"],
        runs={"plan": "done", "inner": "done"},
        answers={"Какой тариф?": "0"},
        cards={"310001": "y"},
        written={"310001": 1},
        said={"Начинаю план": 1, "Внутри": 1, "Конец плана": 1, "Готово.": 1},
    ),
    "run-scenario": Way(
        starts=["/scenario sale"],
        runs={"sale": "done", "after": "done"},
        answers={"Какой пакет?": "1"},
        cards={"380011": "yy"},
        written={"380011": 1},
        said={
            "Начинаю продажу": 1,
            "Пакет Большой, 2": 1,
            "Сумма записана": 1,
            "Внутри Большой": 1,
            "ответ на после Большой: ответ на пакет Большой": 1,
        },
    ),
    "run-flow": Way(
        starts=["/steps begin"],
        runs={"begin": "done", "act": "done"},
        cards={"390012": "yy"},
        written={"390012": 1},
        asked=QUESTIONS,
        said={"После потока": 1, "Готово.": 1},
    ),
    "run-workflow": Way(
        starts=["/workflow weave"],
        runs={"weave": "done"},
        cards={"1010014": "yy"},
        written={"1010014": 1, "70014": 1},
        asked=acting_workflow.QUESTIONS,
        said={acting_workflow.SAID: 1},
    ),
    "run-child": Way(starts=["/steps outer"], runs={"outer": "done", "inner": "done"}, said={"Внутри": 1, "Снаружи": 1, "Готово.": 1}),
    "run-fan": Way(starts=["/fan fan"], runs={"fan": "done"}),
    "run-wide": Way(
        starts=["/wide wide"],
        runs={"wide": "done", "leaf": "done"},
        answers={"Кто?": "0 1"},
        cards={"320002": "yy", "320003": "yny"},
        written={"320002": 1, "320003": 1},
        said={"Широко": 1, "Лист": 1, "Широко всё": 1},
    ),
    "run-cancel": Way(
        starts=["/steps long"],
        runs={"long": "cancelled"},
        cards={"330005": "cancelled y"},
        cancels="held",
        written={"330005": 0},
        said={"Долго": 1, "Не будет": 0},
        shared=False,
    ),
    "run-cancel-waiting": Way(
        starts=["/wide broad"],
        runs={"broad": "cancelled", "asks": "cancelled"},
        cards={"330006": "cancelled y"},
        cancels="3",
        written={"330006": 0},
        said={"Широко": 1, "Широко всё": 0, "Не скажу": 0},
    ),
    "run-expired": Way(
        starts=["/steps late"],
        runs={"late": "done"},
        cards={"340007": "expired y"},
        written={"340007": 1},
        said={"Срок прошёл": 1, "Готово.": 1},
        shared=False,
    ),
    "run-refused": Way(
        starts=["/steps again"],
        runs={"again": "done"},
        cards={"350008": "yy"},
        refuses=DEAL,
        written={"350008": 1},
        said={"Со второго раза": 1, "Готово.": 1},
    ),
    "run-child-again": Way(
        starts=["/steps parent"],
        runs={"parent": "done", "writes": "done"},
        cards={"320004": "y"},
        refuses=DEAL,
        written={"320004": 1},
        said={"Записано": 1, "Дитя справилось": 1, "Готово.": 1},
    ),
    "run-denied": Way(
        starts=["/steps denied"],
        runs={"denied": "failed"},
        cards={"360009": "ny"},
        retries=False,
        written={"360009": 0},
        said={"Не скажу": 0},
    ),
    "run-words": Way(
        starts=["/steps words"], runs={"words": "done"}, answers={"Как вас зовут?": "=Ольга"}, said={"Здравствуйте": 1, "Готово.": 1}
    ),
    "run-beside": Way(
        starts=["/steps side", ONE, "/steps other"],
        runs={"side": "done", "other": "done"},
        answers={"Сбоку?": "1"},
        cards={"370010": "y", "Ольха": "y"},
        written={"370010": 1},
        at_most_once=("Ольха",),
        said={"Сбоку всё": 1, "Рядом всё": 1, "Готово.": 2},
    ),
    "run-turn": Way(
        starts=["/steps turn"],
        runs={"turn": "done"},
        cards={"Берёза": "yy"},
        at_most_once=("Берёза",),
        said={"После хода": 1, "Готово.": 1},
    ),
    "run-pause": Way(
        starts=["/steps pause"], runs={"pause": "done"}, answers={"Дальше?": "0 0"}, pauses="Дальше?", said={"Пауза была": 1, "Готово.": 1}
    ),
    "run-silent": Way(starts=["/steps silent"], runs={"silent": "done"}, said={"Никого": 1, "Готово.": 1}),
}
MORE_WAYS: dict[str, Way] = {
    "run-ten": Way(starts=["/steps ten"], runs={"ten": "done"}, said={"Десять раз": 1, "Готово.": 1}),
    "run-stairs": Way(starts=["/steps stairs"], runs={"stairs": "done"}, said={"Наверху": 1, "Готово.": 1}),
}
"""Ways that are not walked place by place, because they are long."""
ALL_WAYS = {**WAYS, **MORE_WAYS}
