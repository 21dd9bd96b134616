"""What a person does beyond a message and a press: edits a card, takes a change back, asks a lead, makes a lead of a forwarded message, asks anew.

Plain data, put into the tables of `lab_script`.
"""

import json
from dataclasses import dataclass

from tests.crash.lab_script import CHANGES, MORE, PLANS, SCRIPTS, Change, Kind, Step, _call, _confirmed, _said

_UPDATE, _LEAD_ADD = "crm.deal.update", "crm.lead.add"
LEAD = "tg:6"
OWN = "tg:7"
LIMIT = 2_000_000
"""Above it a lead decides."""
REASON = "сначала договор"

EDITED = "поставь сделке 481 сумму 220012"
OVERTAKEN = "поставь сделке 482 сумму 221013"
AHEAD = "поставь сделке 482 сумму 222014"
UNDONE = "поставь сделке 482 сумму 250015"
FREELY = "запиши в сделку 481: новое слово"
CHANGED = "поставь сделке 484 сумму 251016"
LEADS_YES = "поставь сделке 481 сумму 2600015"
LEADS_NO = "поставь сделке 482 сумму 2700017"
LEADS_LATE = "поставь сделке 483 сумму 2800018"
AGAIN = "заведи сделку Рябина, но сперва спроси меня"
REFUSED = "поставь сделке 484 сумму 300021"
FORWARDED = "Здравствуйте, я Пётр Сомов, нужны окна, мой телефон +7 916 000-11-22"
BARE = "\n\nForwarded"
"""How the model hears what was forwarded without a word."""
MAKE_LEAD = "Заведи лид по пересланному"

PLANS |= {
    EDITED: [_call(_UPDATE, {"OPPORTUNITY": 220012}, 481)],
    OVERTAKEN: [_call(_UPDATE, {"OPPORTUNITY": 221013}, 482)],
    AHEAD: [_call(_UPDATE, {"OPPORTUNITY": 222014}, 482)],
    UNDONE: [_call(_UPDATE, {"OPPORTUNITY": 250015}, 482)],
    FREELY: [_call(_UPDATE, {"COMMENTS": "новое слово"}, 481)],
    CHANGED: [_call(_UPDATE, {"OPPORTUNITY": 251016}, 484)],
    LEADS_YES: [_call(_UPDATE, {"OPPORTUNITY": 2600015}, 481)],
    LEADS_NO: [_call(_UPDATE, {"OPPORTUNITY": 2700017}, 482)],
    LEADS_LATE: [_call(_UPDATE, {"OPPORTUNITY": 2800018}, 483)],
    AGAIN: [_call("crm.deal.add", {"TITLE": "Рябина"}, requires_confirmation=True)],
    REFUSED: [_call(_UPDATE, {"OPPORTUNITY": 300021}, 484)],
    BARE: [],
    MAKE_LEAD: [_call(_LEAD_ADD, {"TITLE": "Окна Сомову", "PHONE": [{"VALUE": "+79160001122", "VALUE_TYPE": "WORK"}]})],
}


def _update(mark: str, **more: bool) -> Change:
    return Change(mark=mark, method=_UPDATE, **more)


CHANGES |= {
    EDITED: (_update("230013"),),
    OVERTAKEN: (),
    AHEAD: (_update("222014"),),
    UNDONE: (_update("250015"),),
    FREELY: (_update("новое слово"),),
    CHANGED: (_update("251016"),),
    LEADS_YES: (_update("2600015"),),
    LEADS_NO: (_update("2700017", denied=True),),
    LEADS_LATE: (_update("2800018"),),
    AGAIN: (),
    REFUSED: (),
    BARE: (),
    MAKE_LEAD: (Change(mark="Окна Сомову", method=_LEAD_ADD),),
}


def _press(name: str, what: str, source: str = "", count: int = 1) -> Step:
    source = f"{name}/press-{source or what}"
    return Step(sources=(source, f"{source}-too")[:count], kind="button", text=what)


def _approved(name: str, source: str = "press") -> Step:
    return Step(sources=(f"{name}/{source}", f"{name}/{source}-too"), kind="approve")


def _step(source: str, kind: Kind, text: str = "") -> Step:
    return Step(sources=(source,), kind=kind, text=text)


def _portal(name: str, source: str, **what: object) -> Step:
    return _step(f"{name}/{source}", "portal", json.dumps(what))


@dataclass(frozen=True, kw_only=True)
class Told:
    """A sentence that is said in that chat exactly so often, in a run that nothing befell and in every other; one of its codes is enough."""

    codes: tuple[str, ...]
    chat: str = OWN
    times: int = 1


@dataclass(frozen=True, kw_only=True)
class Flow:
    """The steps of one way, and what must hold of it beyond what holds of every change."""

    steps: tuple[Step, ...]
    written: tuple[str, ...] = ()
    """The marks that are written once where nothing goes wrong."""
    never: tuple[str, ...] = ()
    """The marks that are never written: of a card that was replaced, of a wish that was let go."""
    one_of: tuple[str, ...] = ()
    """Marks of which one consent leads to one write: together they are written at most once."""
    record: tuple[int, str] = (0, "")
    """The deal, and its sum when all is over, if the last write of the way was carried out."""
    told: tuple[Told, ...] = ()
    more: tuple[Change, ...] = ()
    """Changes that come of no request of their own."""
    staffed: bool = False
    """Whether there is a list of people, with a head of sales."""


FLOWS: dict[str, Flow] = {
    "edit": Flow(
        steps=(
            _said("edit", EDITED),
            _press("edit", "edit"),
            _step("edit/value", "value", "230013"),
            Step(sources=("edit/press-old",), kind="again"),
            _approved("edit"),
            Step(sources=("edit/press-late",), kind="again"),
        ),
        written=("230013",),
        never=("220012",),
        record=(481, "230013"),
    ),
    "edit-overtaken": Flow(
        steps=(
            _said("over", OVERTAKEN),
            _press("over", "edit"),
            _step("over/value", "value", "не знаю"),
            Step(sources=("over/value-now", "over/press-now"), kind="overtaken", text="240014"),
            Step(sources=("over/press-late",), kind="again"),
        ),
        one_of=("221013", "240014"),
        more=(_update("240014", avoidable=True),),
    ),
    "edit-overtaking": Flow(
        steps=(
            _said("ahead", AHEAD),
            _press("ahead", "edit"),
            Step(sources=("ahead/value", "ahead/press"), kind="overtaking", text="242017"),
        ),
        written=("222014",),
        one_of=("222014", "242017"),
        record=(482, "222014"),
        told=(Told(codes=("card-already-executed",)),),
        more=(_update("242017", avoidable=True),),
    ),
    "undo": Flow(
        steps=(*_confirmed("undo", UNDONE)[:2], _press("undo", "undo", count=2), _approved("undo", "press-back")),
        written=("250015", "50000.00"),
        record=(482, "50000.00"),
        more=(_update("50000.00", avoidable=True),),
    ),
    "undo-free": Flow(
        steps=(
            _said("free-undo", FREELY),
            _press("free-undo", "undo", count=2),
            _approved("free-undo", "press-back"),
            _press("free-undo", "undo", "undo-late"),
            Step(sources=("free-undo/press-late",), kind="again"),
        ),
        written=("новое слово", '"COMMENTS": ""'),
        told=(Told(codes=("undo-done",)),),
        more=(_update('"COMMENTS": ""', avoidable=True),),
    ),
    "undo-changed": Flow(
        steps=(
            *_confirmed("changed", CHANGED)[:2],
            _press("changed", "undo"),
            _portal("changed", "portal", deal=484, OPPORTUNITY="4321.00"),
            _approved("changed", "press-back"),
            _press("changed", "undo", "undo-late"),
        ),
        written=("251016",),
        record=(484, "4321.00"),
        told=(Told(codes=("undo-changed",)),),
        more=(_update("1000.00", avoidable=True),),
    ),
    "lead-yes": Flow(
        steps=(
            _said("yes", LEADS_YES),
            Step(sources=("yes/press",), kind="presses", text="y y@lead y@lead"),
            Step(sources=("yes/press-late",), kind="presses", text="n@lead"),
        ),
        written=("2600015",),
        record=(481, "2600015"),
        told=(Told(codes=("lead-approved", "recovered-done")),),
        staffed=True,
    ),
    "lead-no": Flow(
        steps=(
            _said("no", LEADS_NO),
            _press("no", "why"),
            _step("no/reason", "reason", REASON),
            Step(sources=("no/press-late",), kind="presses", text="y@lead y"),
        ),
        record=(482, "50000.00"),
        told=(Told(codes=("lead-denied-why",)), Told(codes=("lead-reason-sent",), chat=LEAD), Told(codes=("lead-why-ask",), chat=LEAD)),
        staffed=True,
    ),
    "lead-late": Flow(
        steps=(
            _said("late", LEADS_LATE),
            _step("late/arrives", "later", "100"),
            _step("late/reminded", "later", "7200"),
            Step(sources=("late/press",), kind="presses", text="y@lead"),
        ),
        written=("2800018",),
        told=(
            Told(codes=("lead-remind",), chat=LEAD),
            Told(codes=("lead-unreached",), times=0),
            Told(codes=("lead-approved", "recovered-done")),
        ),
        staffed=True,
    ),
    "forward-create": Flow(
        steps=(
            _step("create/message", "forwarded", FORWARDED),
            _press("create", "forward lead", "forward", count=2),
            _step("create/chosen", "choose", "last"),
            _approved("create"),
        ),
        written=("Окна Сомову",),
        more=CHANGES[MAKE_LEAD],
    ),
    "forward-take": Flow(
        steps=(
            _step("take/message", "forwarded", FORWARDED),
            _press("take", "forward lead", "forward"),
            _step("take/chosen", "choose"),
            _approved("take"),
        ),
        never=("Окна Сомову",),
        told=(Told(codes=("duplicate-taken",)),),
    ),
    "again-expired": Flow(
        steps=(
            _said("again", AGAIN),
            _step("again/day", "later", "90000"),
            _press("again", "again", count=2),
            _approved("again"),
            _press("again", "again", "again-late"),
            Step(sources=("again/press-late",), kind="again"),
        ),
        written=("Рябина",),
        one_of=("Рябина",),
    ),
    "again-refused": Flow(
        steps=(
            _said("refused", REFUSED),
            _portal("refused", "refuses", refuse=_UPDATE),
            _approved("refused"),
            _portal("refused", "takes", refuse=""),
            _press("refused", "again", count=2),
            _approved("refused", "press-anew"),
        ),
        written=("300021",),
        one_of=("300021",),
        record=(484, "300021"),
    ),
}

SCRIPTS |= {name: flow.steps for name, flow in FLOWS.items()}
MORE |= {name: flow.more for name, flow in FLOWS.items()}
