"""Shows the progress of running turns and runs in their chats; it never delays a turn and may get lost.

In a private chat it is a draft, in a group a placeholder, a message that becomes the answer. A turn comes before a run; a run gets no
placeholder.
"""

import asyncio
import logging
import math
import zlib
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field

from aiogram.exceptions import AiogramError, TelegramBadRequest, TelegramNotFound
from aiogram.methods import EditMessageText, SendChatAction, SendMessage, SendMessageDraft
from aiogram.types import InlineKeyboardMarkup

from bot.rendering.progress import Step, render_progress
from bot.telegram.intake.people import ChatPeople
from bot.telegram.outgoing.delivery_state import DeliveryState, parse_chat
from bot.telegram.outgoing.sender import Sender
from bot.telegram.view.entities import is_blank, render_entities, split_entities
from bot.telegram.view.keyboards import build_stop_keyboard
from bot.telegram.view.message_builder import Piece
from orchestrator.domain.outputs import Notice
from orchestrator.replies.text_guard import TextGuard
from state.clock import read_boottime
from state.journal.store import StoreError
from state.stored import JsonObject

log = logging.getLogger(__name__)

DRAFT_EVERY = 0.7
DRAFT_AGAIN = 20.0
"""Telegram shows a draft for only 30 seconds."""
TYPING_EVERY = 4.5
"""Clients show "typing" for only five seconds."""
PLACEHOLDER_AFTER = 1.5
"""Of a shorter turn only the answer is shown."""
EDIT_EVERY = {"private": 1.5, "group": 3.0}
SILENCE_LIMIT = 300.0
"""Seconds without news: the turn's process may have ended."""
FINISH_TIMEOUT = 5.0
"""Seconds that the answer waits for a running call."""
RETRY = 1.0
"""Seconds after which a call is tried that the rate limit refused."""

CLOSED = TextGuard()
"""Lets no link through."""

BEGUN, STEP, OVER = "turn-begun", "step", "turn-over"
"""Notices with the argument turn; a step also has number, state, verb, entity, title, url, method."""
RUN_SHOWS, RUN_OVER = "run-shows", "run-shown"
"""Notices with the argument run; the first has said: a text or a notice."""


@dataclass(kw_only=True)
class _TurnView:
    """What a chat shows of one running turn or run."""

    session: str
    chat: int
    thread: int | None
    began: float
    turn: str = ""
    run: str = ""
    """"" for the progress of a turn."""
    heard_at: float = 0.0
    text: str = ""
    note: Notice | None = None
    steps: dict[int, JsonObject] = field(default_factory=dict)
    drafts: bool = False
    fresh: bool = True
    shown_at: float = -math.inf
    typed_at: float = -math.inf
    message: int = 0
    is_over: bool = False
    call_task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None

    @property
    def draft_id(self) -> int:
        """Never 0; the same for all drafts of a turn, so that each replaces the last."""
        return zlib.crc32((self.run or self.turn).encode()) % 0x7FFFFFFE + 1


class Progress:
    """Reports are dropped unless `run` runs."""

    def __init__(
        self,
        outlet: Sender,
        parts: DeliveryState,
        people: ChatPeople,
        *,
        guard: TextGuard = CLOSED,
        seconds: Callable[[], float] = read_boottime,
    ) -> None:
        """`guard` removes secrets and unknown links; `seconds` is a monotonic clock."""
        self._outlet = outlet
        self._parts = parts
        self._people = people
        self._guard = guard
        self._seconds = seconds
        self._views: dict[str, _TurnView] = {}
        self._typing_at: dict[str, float] = {}
        self._group: asyncio.TaskGroup | None = None

    def set_guard(self, guard: TextGuard) -> None:
        self._guard = guard

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self._group = None
                for show in self._views.values():
                    self._stop_view(show)
                self._views.clear()

    def show_typing(self, session: str) -> None:
        now = self._seconds()
        if now - self._typing_at.get(session, -math.inf) < TYPING_EVERY:
            return
        self._typing_at = {key: at for key, at in self._typing_at.items() if now - at < TYPING_EVERY} | {session: now}
        chat, thread = parse_chat(session)
        show = _TurnView(session=session, chat=chat, thread=thread, began=now)
        self._start_call(show, self._send_typing(show, now))

    async def tell(self, session: str, report: str | Notice) -> None:
        """Take a text so far, or a notice about a turn or run. Returns at once."""
        if self._group is None:
            return
        show = self._views.get(session)
        run, report = _unpack_run(report)
        if isinstance(report, Notice) and report.code in {OVER, RUN_OVER}:
            if show is not None and show.run == run:
                self._stop_view(show)
            return
        if run and show is not None and not show.is_over and show.run != run:
            return
        if show is None or show.is_over or show.run != run or (isinstance(report, Notice) and report.code == BEGUN):
            show = self._begin(session, report, run)
        waiting = show.fresh and show.timer is not None
        show.heard_at, show.fresh = self._seconds(), True
        match report:
            case str():
                show.text, show.note = report, None
            case Notice(code="turn-begun"):
                pass
            case Notice(code="step"):
                show.steps[report.args.get("number", len(show.steps))] = report.args
                show.note = None
            case _:
                show.note = report
        if not waiting:  # an answer streams in hundreds of parts, and only the newest matters
            self._cancel_timer(show)
            self._schedule(show)

    async def finish(self, session: str, turn: str) -> int:
        """Return the message that the answer shall replace, 0 if none; no more progress is shown. Raises StoreError."""
        show = self._views.get(session)
        if show is None or show.run or show.turn not in {turn, ""}:
            return await self._parts.find_placeholder(session, turn)
        del self._views[session]
        self._stop_view(show)
        if show.call_task is not None:
            await asyncio.wait([show.call_task], timeout=FINISH_TIMEOUT)
        if show.message or show.chat > 0:
            return show.message
        return await self._parts.find_placeholder(session, turn)

    def refresh(self, session: str) -> None:
        """Another message removes the draft."""
        show = self._views.get(session)
        if show is not None and show.drafts and not show.is_over:
            show.fresh, show.shown_at = True, -math.inf
            self._cancel_timer(show)
            self._schedule(show)

    def is_shown_elsewhere(self, session: str, message: int) -> bool:
        """If so, `message` is of an earlier turn, and its Stop button has nothing to stop."""
        show = self._views.get(session)
        return show is not None and not show.is_over and show.message not in {0, message}

    def show_due(self) -> None:
        """Make all due calls at once; for tests, which set the clock."""
        for show in list(self._views.values()):
            self._cancel_timer(show)
            self._show_if_due(show)

    def _begin(self, session: str, report: str | Notice, run: str) -> _TurnView:
        old = self._views.get(session)
        if old is not None:
            self._stop_view(old)
        chat, thread = parse_chat(session)
        turn = str(report.args.get("turn", "")) if isinstance(report, Notice) and not run else ""
        show = _TurnView(session=session, chat=chat, thread=thread, began=self._seconds(), turn=turn, run=run, drafts=chat > 0)
        self._views[session] = show
        return show

    def _stop_view(self, show: _TurnView) -> None:
        show.is_over = True
        self._cancel_timer(show)

    def _schedule(self, show: _TurnView) -> None:
        wait = max(0.0, self._find_due_time(show) - self._seconds())
        if show.timer is None and show.call_task is None and not show.is_over and wait < math.inf:
            show.timer = asyncio.get_running_loop().call_later(wait, self._show_if_due, show)

    def _cancel_timer(self, show: _TurnView) -> None:
        if show.timer is not None:
            show.timer.cancel()
            show.timer = None

    def _find_due_time(self, show: _TurnView) -> float:
        if show.drafts:
            return show.shown_at + (DRAFT_EVERY if show.fresh else DRAFT_AGAIN)
        if show.message:
            return show.shown_at + EDIT_EVERY["group" if show.chat < 0 else "private"] if show.fresh else math.inf
        return min(show.typed_at + TYPING_EVERY, self._find_placeholder_time(show))

    def _find_placeholder_time(self, show: _TurnView) -> float:
        """Never for a turn without an id: its answer could not find the placeholder."""
        return max(show.began + PLACEHOLDER_AFTER, show.shown_at + RETRY) if show.turn else math.inf

    def _show_if_due(self, show: _TurnView) -> None:
        show.timer = None
        now = self._seconds()
        if show.is_over or show.call_task is not None:
            return
        if now - show.heard_at > SILENCE_LIMIT:
            self._stop_view(show)
        elif self._find_due_time(show) > now:
            self._schedule(show)
        else:
            self._call(show, self._build_next_call(show, now))

    def _call(self, show: _TurnView, work: Coroutine[None, None, None] | None) -> None:
        if work is None:  # no room now: later there may be room, and more to show
            show.timer = asyncio.get_running_loop().call_later(RETRY, self._show_if_due, show)
            return
        show.call_task = self._start_call(show, work)
        if show.call_task is not None:
            show.call_task.add_done_callback(lambda _: self._finish_call(show))

    def _finish_call(self, show: _TurnView) -> None:
        show.call_task = None
        self._schedule(show)

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None] | None:
        if self._group is None:
            work.close()
            return None
        return self._group.create_task(work)

    def _start_call(self, show: _TurnView, work: Coroutine[None, None, None]) -> asyncio.Task[None] | None:
        """Closes `work` even if the task ends before it begins."""
        task = self._start(self._run_guarded(show, work))
        if task is None:
            work.close()
        else:
            task.add_done_callback(lambda _: work.close())
        return task

    def _build_next_call(self, show: _TurnView, now: float) -> Coroutine[None, None, None] | None:
        if not show.drafts and not show.message and now < self._find_placeholder_time(show):
            return self._send_typing(show, now)
        if not self._outlet.may_show(show.chat, draft=show.drafts):
            return None
        show.fresh, show.shown_at = False, now
        if show.drafts:
            return self._send_draft(show)
        return self._edit_placeholder(show) if show.message else self._send_placeholder(show)

    async def _run_guarded(self, show: _TurnView, work: Coroutine[None, None, None]) -> None:
        """Never raises. If drafts are refused, a placeholder is used from then on."""
        try:
            await work
        except (TelegramBadRequest, TelegramNotFound) as error:  # TelegramNotFound: a server that is older than drafts
            if show.drafts:
                show.drafts = False
                log.info("no drafts in this chat: %s", error.message, extra={"action": "drafts_refused"})
            elif show.message and "not modified" not in error.message:
                self._stop_view(show)
        except AiogramError as error:
            log.debug("progress is not shown: %s", type(error).__name__, extra={"action": "progress_not_shown"})
        except StoreError:
            log.warning("a placeholder could not be noted", extra={"action": "store_trouble"})
        except Exception:  # a rendering error must not end the door
            log.exception("progress cannot be shown", extra={"action": "progress_failed"})
            self._stop_view(show)

    async def _send_draft(self, show: _TurnView) -> None:
        text, entities = self._render_content(show)
        draft = SendMessageDraft(
            chat_id=show.chat,
            draft_id=show.draft_id,
            text=text,
            entities=entities,
            message_thread_id=show.thread,
            can_stop=not show.run,  # /stop ends turns; a run is cancelled with /cancel
        )
        await self._outlet.show(draft, show.chat)

    async def _send_placeholder(self, show: _TurnView) -> None:
        show.message = await self._parts.find_placeholder(show.session, show.turn)  # exists when the turn runs again after a restart
        if show.message:
            show.fresh = True
            return
        text, entities = self._render_content(show)
        text = text or self._people.build_translator(show.session).translate("working")
        stop = self._build_stop_keyboard(show)
        message = SendMessage(chat_id=show.chat, text=text, entities=entities, message_thread_id=show.thread, reply_markup=stop)
        show.message = (await self._outlet.show(message, show.chat)).message_id
        await self._parts.record_placeholder(show.session, show.turn, show.message)

    async def _edit_placeholder(self, show: _TurnView) -> None:
        text, entities = self._render_content(show)
        if text:
            stop = self._build_stop_keyboard(show)  # an edit without buttons would remove them
            edit = EditMessageText(chat_id=show.chat, message_id=show.message, text=text, entities=entities, reply_markup=stop)
            await self._outlet.show(edit, show.chat)

    def _build_stop_keyboard(self, show: _TurnView) -> InlineKeyboardMarkup:
        """Under a draft Telegram itself shows a button."""
        return build_stop_keyboard(self._people.build_translator(show.session))

    async def _send_typing(self, show: _TurnView, now: float) -> None:
        show.typed_at = now
        if self._outlet.is_open(show.chat):
            typing = SendChatAction(chat_id=show.chat, action="typing", message_thread_id=show.thread)
            await self._outlet.show(typing, show.chat)

    def _render_content(self, show: _TurnView) -> Piece:
        """The end of a long text; "" if nothing is visible."""
        tr = self._people.build_translator(show.session)
        words = self._guard.clean_partial(show.text, locale=tr.locale)
        steps = [Step.model_validate(step) for step in show.steps.values()]
        piece = split_entities(*render_entities(render_progress(steps, show.note, words, tr)))[-1]
        return ("", []) if is_blank(piece[0]) else piece


def _unpack_run(report: str | Notice) -> tuple[str, str | Notice]:
    if not isinstance(report, Notice) or report.code not in {RUN_SHOWS, RUN_OVER}:
        return "", report
    content = report.args.get("said", "") if report.code == RUN_SHOWS else report
    return str(report.args["run"]), Notice.model_validate(content) if isinstance(content, Mapping) else content
