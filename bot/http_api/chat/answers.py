"""Built from stored events, an answer is the same when repeated, after a restart and in another process."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from bot.http_api.approvals.card_models import Confirmation, build_undo_token, to_confirmation
from bot.http_api.audit.run_events import Button, to_buttons
from bot.i18n.translate import Translator
from bot.rendering.kinds import render_message
from bot.rendering.pictures.drawing import draw_report
from bot.rendering.spans import to_plain_text
from orchestrator.domain.card_view import CardView
from orchestrator.domain.outputs import MADE_CODES, Notice, Reply, ReportPart
from orchestrator.domain.report import ReportAnswer
from orchestrator.features.numbers.feature import BACK, BUTTON, HOW, RECORDS, VARIANT
from orchestrator.reports.cards import FoundCard
from orchestrator.reports.viewer import Viewer
from state.events.base import Event, type_names
from state.events.calls import CallSucceeded
from state.events.confirmations import ConfirmationRequested
from state.events.conversation import TurnFinished
from state.events.talking import AnswerGiven
from state.journal.journal import load_state, to_stream
from state.journal.store import InboxRow, Store
from state.model.card import Card
from state.stored import JsonObject

State = Literal["answered", "waiting", "asked", "limit", "degraded", "planned", "stopped", "failed", "budget", "working"]
WANTED: Final = frozenset({"AnswerGiven", "CallSucceeded", "ConfirmationRequested", "TurnFinished"})
_PAGE: Final = 100
BeforeImages = Mapping[str, Mapping[str, JsonObject]]
"""By confirmation id: the records that a card changes, as they were when it was made."""
_RECEIPTS: Final = frozenset({"run-started", "run-passed"})
"""Notices that say which run a message started or went to."""
_RECORDS: Final = ("deal", "contact", "company", "task")


class Choice(BaseModel):
    """One of several records that a name in the message may mean; the caller chooses it by sending its `token` as the next message."""

    model_config = ConfigDict(frozen=True)
    token: str = Field(description="Send it back as `message` to choose.")
    label: str


class Done(BaseModel):
    """A change in Bitrix24 that was made without a confirmation."""

    model_config = ConfigDict(frozen=True)
    method: str = Field(examples=["crm.timeline.comment.add"])
    text: str = Field("", description="What was done, in words.")
    record: str = Field("", examples=["deal:481"])
    url: str = Field("", description="The record's card in the portal.")
    undo: str = Field("", description="Where it can be taken back: send it as the next message; a confirmation follows.")


class Report(BaseModel):
    """Numbers that code has counted. `assistant` tells them in words."""

    model_config = ConfigDict(frozen=True)
    report_id: str = Field(description="A button that changes the report answers with the same id.")
    answer: ReportAnswer
    svg: str = Field("", description="The picture, on a light ground; empty for a table. Texts in it are escaped, and it loads nothing.")
    actions: Sequence[Button] = Field((), description="Reports that are one change away, the way back, the records, how it was counted.")


class ChatAnswer(BaseModel):
    """The outcome of a message. `assistant` is all that a person needs; the other fields are for programs."""

    model_config = ConfigDict(frozen=True)
    assistant: str
    session: str = Field(examples=["http:site:42"])
    turn_id: str = Field(description="Also the trace id, and the header X-Trace-Id.")
    state: State = Field(description="`working`: not through yet; the answer comes under /sessions/{session}/events.")
    waiting: Sequence[Confirmation] = Field((), description="Calls that wait for a decision: POST /confirmations/{id}.")
    done: Sequence[Done] = ()
    choices: Sequence[Choice] = ()
    actions: Sequence[Button] = Field((), description="Buttons that are offered; send the `token` of one as the next message.")
    reports: Sequence[Report] = ()
    run: str = Field("", description="The run that the message started or went to: GET /runs/{run}. What it says comes in the events.")
    notices: Sequence[str] = Field((), description="What else there is to say; it stands in `assistant` too.")


def read_events(store: Store, row: InboxRow) -> list[Event]:
    """Those that make up the answer; empty if there are none. Raises StoreError."""
    stream = f"session:{row.session}"
    after = _find_start(store, stream, row.id)
    events: list[Event] = []
    while page := store.read_events(stream, after=after, limit=_PAGE):
        mine = [item for item in page if item.type in WANTED and row.id in (item.data.get("cause"), item.data.get("turn_id"))]
        if events and not mine:
            break
        events += [type_names[item.type].from_data(item.data) for item in mine]
        after = page[-1].seq
    return events


def _find_start(store: Store, stream: str, row_id: str) -> int:
    """All events of the row lie after this number. By binary search: ids of rows and events grow with time."""
    low, high = 0, store.read_head(stream)[0]
    if high <= _PAGE:
        return 0
    while low < high:
        middle = (low + high + 1) // 2
        event = store.read_events(stream, after=middle - 1, limit=1)
        if event and event[0].id <= row_id:
            low = middle
        else:
            high = middle - 1
    return max(0, low - 1)


def trim_to_answer(happened: Sequence[Event]) -> Sequence[Event]:
    """Up to the last that belongs to the answer: not calls after an approval, nor what the turn does after its cards."""
    numbered = list(enumerate(happened, start=1))
    answers = [number for number, event in numbered if isinstance(event, AnswerGiven)]
    ended = [number for number, event in numbered if isinstance(event, TurnFinished)]
    return happened[: max([*answers, *ended[:1]], default=0)]


def read_befores(store: Store, session: str) -> BeforeImages:
    """Raises StoreError."""
    state, _ = load_state(store, to_stream(session))
    return {key: entry.before or {} for key, entry in state.cards.items()}


def collect_open_cards(happened: Sequence[Event]) -> list[Card]:
    """In their latest version; without before-image if its `ConfirmationRequested` is not among the events."""
    befores = {event.confirmation_id: event.before for event in happened if isinstance(event, ConfirmationRequested)}
    views = [CardView.from_body(answer.body) for answer in _collect_replies(happened) if answer.kind == "card"]
    latest = {view.card.confirmation_id: view for view in views}
    cards = [view.card for view in latest.values() if view.card.is_waiting and not view.home]
    return [card.with_values(before=befores[card.confirmation_id]) if card.confirmation_id in befores else card for card in cards]


def build_answer(
    happened: Sequence[Event], row: InboxRow, viewer: Viewer, tr: Translator, befores: BeforeImages, urls: Mapping[str, str]
) -> ChatAnswer:
    """Of events as `trim_to_answer` gives them; `befores` of earlier cards, `urls` by record ("deal:481")."""
    answers = _collect_replies(happened)
    replies = [Reply.model_validate(answer.body) for answer in answers if answer.kind == "reply"]
    open_cards = collect_open_cards(happened)
    cards = [card.with_values(before=card.before or befores.get(card.confirmation_id, {})) for card in open_cards]
    entries = {card.confirmation_id: card for card in cards}
    undoable = {effect_id for reply in replies for effect_id in reply.undo}
    ends = [event.reason for event in happened if isinstance(event, TurnFinished)]
    names = {effect_id: words for reply in replies for effect_id, words in _collect_change_names(reply, tr).items()}
    return ChatAnswer(
        assistant="\n\n".join(text for answer in answers if (text := _render_text(answer, tr))),
        session=row.session,
        turn_id=row.id,
        state=ends[-1] if ends else "answered",
        waiting=[to_confirmation(FoundCard(session=row.session, entry=card, seq=0, entries=entries), viewer, tr) for card in cards],
        done=[_to_done(call, urls, names.get(call.effect_id), may_undo=call.effect_id in undoable) for call in _select_changes(happened)],
        choices=[Choice(token=choice.token, label=choice.label) for reply in replies for choice in reply.choices],
        actions=[button for reply in replies for button in to_buttons(reply.actions, tr)],
        reports=[_to_report(part, tr) for reply in replies for part in reply.parts if isinstance(part, ReportPart) and not part.is_file],
        run=next((str(notice.args["run"]) for reply in replies for notice in reply.notices if notice.code in _RECEIPTS), ""),
        notices=[tr.translate_notice(notice) for reply in replies for notice in reply.notices],
    )


def _to_report(part: ReportPart, tr: Translator) -> Report:
    picture = draw_report(part.answer, tr)
    actions = [Button(label=label, token=f"{BUTTON}:{part.report_id}:{wish}") for label, wish in _list_wishes(part, tr)]
    return Report(report_id=part.report_id, answer=part.answer, svg=picture.svg if picture is not None else "", actions=actions)


def _list_wishes(part: ReportPart, tr: Translator) -> Iterator[tuple[str, str]]:
    for number, variant in enumerate(part.answer.variants):
        yield variant.label, f"{VARIANT}{number}"
    if part.has_way_back:
        yield tr.translate("report-button-back"), BACK
    if part.answer.records:
        yield tr.translate("report-button-list", of=str(part.answer.question.get("of") or "")), RECORDS
    yield tr.translate("report-button-how"), HOW


def collect_records(happened: Sequence[Event]) -> list[str]:
    """Each such as "deal:481"."""
    return [record for call in _select_changes(happened) if (record := _find_record(call))]


def _collect_replies(happened: Sequence[Event]) -> list[AnswerGiven]:
    """The latest version of each, in the order of the first; versions share an outbox key."""
    last: dict[str, AnswerGiven] = {}
    for number, event in enumerate(happened):
        if isinstance(event, AnswerGiven) and event.body:  # an erased one has no body
            last[event.outbox_key or f"#{number}"] = event
    return list(last.values())


def _render_text(answer: AnswerGiven, tr: Translator) -> str:
    """Cards are in `waiting` instead: ""."""
    if answer.kind in {"card", "toast"}:
        return ""
    return to_plain_text(render_message(answer.kind, answer.body, tr))


def _select_changes(happened: Sequence[Event]) -> list[CallSucceeded]:
    return [event for event in happened if isinstance(event, CallSucceeded) and event.call_class != "R"]


def _collect_change_names(reply: Reply, tr: Translator) -> dict[str, tuple[str, str]]:
    """By effect id: (sentences, joined with semicolons; address in the portal or "")."""
    notices = [notice for notice in reply.notices if notice.code in MADE_CODES]
    calls = [call for notice in reply.notices if notice.code == "done-before" for call in notice.args["calls"] if isinstance(call, dict)]
    notices += [Notice.model_validate(call) for call in calls]
    names: dict[str, tuple[str, str]] = {}
    for notice in notices:
        effect_id = str(notice.args.get("effect_id") or "")
        words, url = names.get(effect_id, ("", ""))
        sentence = tr.translate_notice(notice)
        names[effect_id] = (f"{words}; {sentence}" if words else sentence, url or str(notice.args.get("url") or ""))
    return {effect_id: told for effect_id, told in names.items() if effect_id}


def _to_done(call: CallSucceeded, urls: Mapping[str, str], change_name: tuple[str, str] | None, *, may_undo: bool) -> Done:
    """`change_name` is None if no sentence tells it, such as a reminder: then the journal's description is used."""
    record = _find_record(call)
    words, url = change_name or (call.changes.done, "")
    undo = build_undo_token(call.effect_id) if may_undo else ""
    return Done(method=call.method, text=words, record=record, url=urls.get(record, "") or url, undo=undo)


def _find_record(call: CallSucceeded) -> str:
    known = (f"{kind}:{number}" for kind in _RECORDS if (number := call.changes.objects.get(f"current_{kind}_id")))
    return call.created or next(known, "")
