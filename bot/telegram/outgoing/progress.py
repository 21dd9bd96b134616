"""Shows the progress of running turns (a turn is the processing of one request) and runs (executions of scenarios) in their chats.

In a private chat the progress is a draft, a temporary message that Telegram shows for 30 seconds and the bot renews. In a group, and where
drafts are refused, it is a placeholder, a message that is later edited to become the answer. Progress never delays a turn and may get lost.
`finish` is called before the answer is sent; after it no more progress of the turn is shown. A chat shows one thing at a time: a turn comes
before a run, and of several runs the first one is shown. A run never gets a placeholder, so in a group it shows only "typing".
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
"""Seconds after which an unchanged draft is sent again, because Telegram shows a draft for only 30 seconds."""
TYPING_EVERY = 4.5
"""Seconds after which "typing" is sent again, because clients show it for only five seconds."""
PLACEHOLDER_AFTER = 1.5
"""Seconds after which a turn gets a placeholder message; of a turn that ends sooner only the answer is shown."""
EDIT_EVERY = {"private": 1.5, "group": 3.0}
SILENCE_LIMIT = 300.0
"""Seconds without news after which a turn's progress is no longer shown, because the process that runs it may have ended."""
FINISH_TIMEOUT = 5.0
"""Maximum number of seconds that the answer waits for a running call that shows progress."""
RETRY = 1.0
"""Seconds until the next attempt if the rate limit did not allow a call."""

CLOSED = TextGuard()
"""Lets no link through."""

BEGUN, STEP, OVER = "turn-begun", "step", "turn-over"
"""Codes of the notices that control the view; all have the argument turn, a step also number, state, verb, entity, title, url, method."""
RUN_SHOWS, RUN_OVER = "run-shows", "run-shown"
"""Codes of the notices about a run; both have the argument run, the first also said: what the run shows, a text or a notice."""


@dataclass(kw_only=True)
class _TurnView:
    """The progress of one running turn or run as its chat shows it: the steps, the text so far, and when it was last sent to Telegram."""

    session: str
    chat: int
    thread: int | None
    began: float
    turn: str = ""
    run: str = ""
    """The run whose progress this is; "" for that of a turn."""
    heard_at: float = 0.0
    text: str = ""
    note: Notice | None = None
    steps: dict[int, JsonObject] = field(default_factory=dict)
    drafts: bool = False
    fresh: bool = True
    """Whether there is news that is not shown yet."""
    shown_at: float = -math.inf
    typed_at: float = -math.inf
    message: int = 0
    is_over: bool = False
    call_task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None

    @property
    def draft_id(self) -> int:
        """The id of the turn's draft, never 0. All drafts of a turn have the same id, so that each replaces the one before it."""
        return zlib.crc32((self.run or self.turn).encode()) % 0x7FFFFFFE + 1


class Progress:
    """Shows the progress of all turns that run in this process, while `run` runs. At other times reported progress is dropped."""

    def __init__(
        self,
        outlet: Sender,
        parts: DeliveryState,
        people: ChatPeople,
        *,
        guard: TextGuard = CLOSED,
        seconds: Callable[[], float] = read_boottime,
    ) -> None:
        """Create the object without any progress to show.

        Messages are sent through `outlet`. `parts` stores the ids of placeholders (messages that show progress and become the answer),
        `people` gives the language of each chat, `guard` removes secrets and unknown links from an unfinished answer, and `seconds` is a
        monotonic clock.
        """
        self._outlet = outlet
        self._parts = parts
        self._people = people
        self._guard = guard
        self._seconds = seconds
        self._views: dict[str, _TurnView] = {}
        self._typing_at: dict[str, float] = {}
        self._group: asyncio.TaskGroup | None = None

    def set_guard(self, guard: TextGuard) -> None:
        """Set the filter that removes secrets and unknown links from an unfinished answer.

        The orchestrator has this filter, and is built after the door.
        """
        self._guard = guard

    async def run(self) -> None:
        """Show progress until cancelled."""
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
        """Show "typing" in the session's chat at once; called when a new request is stored, before its turn begins."""
        now = self._seconds()
        if now - self._typing_at.get(session, -math.inf) < TYPING_EVERY:
            return
        self._typing_at = {key: at for key, at in self._typing_at.items() if now - at < TYPING_EVERY} | {session: now}
        chat, thread = parse_chat(session)
        show = _TurnView(session=session, chat=chat, thread=thread, began=now)
        self._start_call(show, self._send_typing(show, now))

    async def tell(self, session: str, said: str | Notice) -> None:
        """Take a report on the session's running turn, or on a run that is shown there, and show it soon. Returns at once.

        `said` is the text of the answer so far, or a notice about a step, the beginning or the end of the turn, or about a run.
        """
        if self._group is None:
            return
        show = self._views.get(session)
        run, said = _unpack_run(said)
        if isinstance(said, Notice) and said.code in {OVER, RUN_OVER}:
            if show is not None and show.run == run:
                self._stop_view(show)
            return
        if run and show is not None and not show.is_over and show.run != run:
            return
        if show is None or show.is_over or show.run != run or (isinstance(said, Notice) and said.code == BEGUN):
            show = self._begin(session, said, run)
        waiting = show.fresh and show.timer is not None
        show.heard_at, show.fresh = self._seconds(), True
        match said:
            case str():
                show.text, show.note = said, None
            case Notice(code="turn-begun"):
                pass
            case Notice(code="step"):
                show.steps[said.args.get("number", len(show.steps))] = said.args
                show.note = None
            case _:
                show.note = said
        if not waiting:  # an answer streams in hundreds of parts, and only the newest matters
            self._cancel_timer(show)
            self._schedule(show)

    async def finish(self, session: str, turn: str) -> int:
        """Stop showing the progress of `turn`, and return the id of the message that its answer shall replace; 0 if there is none.

        Called just before the answer is sent. Raises StoreError.
        """
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
        """Show the draft of the session's running turn again; called after another message was sent, since that removes the draft."""
        show = self._views.get(session)
        if show is not None and show.drafts and not show.is_over:
            show.fresh, show.shown_at = True, -math.inf
            self._cancel_timer(show)
            self._schedule(show)

    def is_shown_elsewhere(self, session: str, message: int) -> bool:
        """Return whether the session's running turn shows its progress in a message other than `message`.

        If so, `message` belongs to an earlier turn, and its Stop button has nothing to stop.
        """
        show = self._views.get(session)
        return show is not None and not show.is_over and show.message not in {0, message}

    def show_due(self) -> None:
        """Make at once every call whose time has come; used only by tests, which set the clock by hand."""
        for show in list(self._views.values()):
            self._cancel_timer(show)
            self._show_if_due(show)

    def _begin(self, session: str, said: str | Notice, run: str) -> _TurnView:
        old = self._views.get(session)
        if old is not None:
            self._stop_view(old)
        chat, thread = parse_chat(session)
        turn = str(said.args.get("turn", "")) if isinstance(said, Notice) and not run else ""
        show = _TurnView(session=session, chat=chat, thread=thread, began=self._seconds(), turn=turn, run=run, drafts=chat > 0)
        self._views[session] = show
        return show

    def _stop_view(self, show: _TurnView) -> None:
        show.is_over = True
        self._cancel_timer(show)

    def _schedule(self, show: _TurnView) -> None:
        """Start the timer for the next call to Telegram that shows the progress of the turn `show`, unless a timer or a call is active."""
        wait = max(0.0, self._find_due_time(show) - self._seconds())
        if show.timer is None and show.call_task is None and not show.is_over and wait < math.inf:
            show.timer = asyncio.get_running_loop().call_later(wait, self._show_if_due, show)

    def _cancel_timer(self, show: _TurnView) -> None:
        if show.timer is not None:
            show.timer.cancel()
            show.timer = None

    def _find_due_time(self, show: _TurnView) -> float:
        """Return the time at which the next call to Telegram may be made, in seconds of the monotonic clock.

        Returns infinity if no call is needed before the next report on the turn.
        """
        if show.drafts:
            return show.shown_at + (DRAFT_EVERY if show.fresh else DRAFT_AGAIN)
        if show.message:
            return show.shown_at + EDIT_EVERY["group" if show.chat < 0 else "private"] if show.fresh else math.inf
        return min(show.typed_at + TYPING_EVERY, self._find_placeholder_time(show))

    def _find_placeholder_time(self, show: _TurnView) -> float:
        """Return the time, in seconds of the monotonic clock, at which the placeholder message may be sent.

        Returns infinity for a turn without an id, since its answer could not find and replace the placeholder.
        """
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
        """Begin the call `work`, a coroutine that is closed even if the task ends before it has begun."""
        task = self._start(self._run_guarded(show, work))
        if task is None:
            work.close()
        else:
            task.add_done_callback(lambda _: work.close())
        return task

    def _build_next_call(self, show: _TurnView, now: float) -> Coroutine[None, None, None] | None:
        """Return the next call to Telegram that shows this turn's progress, as a coroutine.

        Returns None if the rate limit does not allow a call now.
        """
        if not show.drafts and not show.message and now < self._find_placeholder_time(show):
            return self._send_typing(show, now)
        if not self._outlet.may_show(show.chat, draft=show.drafts):
            return None
        show.fresh, show.shown_at = False, now
        if show.drafts:
            return self._send_draft(show)
        return self._edit_placeholder(show) if show.message else self._send_placeholder(show)

    async def _run_guarded(self, show: _TurnView, work: Coroutine[None, None, None]) -> None:
        """Await the call `work`; its errors are logged and never raised.

        If Telegram refuses drafts in the chat, a placeholder is used from then on.
        """
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
        """Return the Stop button for a placeholder, the message that shows progress where drafts (temporary messages) cannot.

        A draft needs no button of the bot, because Telegram itself shows one under it.
        """
        return build_stop_keyboard(self._people.build_translator(show.session))

    async def _send_typing(self, show: _TurnView, now: float) -> None:
        show.typed_at = now
        if self._outlet.is_open(show.chat):
            typing = SendChatAction(chat_id=show.chat, action="typing", message_thread_id=show.thread)
            await self._outlet.show(typing, show.chat)

    def _render_content(self, show: _TurnView) -> Piece:
        """Return the progress as text with entities, in the style of the final answer; the text is "" if nothing of it is visible.

        Of a text that is too long for one message only the end is returned, because the newest words are there.
        """
        tr = self._people.build_translator(show.session)
        words = self._guard.clean_partial(show.text, locale=tr.locale)
        steps = [Step.model_validate(step) for step in show.steps.values()]
        piece = split_entities(*render_entities(render_progress(steps, show.note, words, tr)))[-1]
        return ("", []) if is_blank(piece[0]) else piece


def _unpack_run(said: str | Notice) -> tuple[str, str | Notice]:
    """Return (the run that a report is about or "", what it says)."""
    if not isinstance(said, Notice) or said.code not in {RUN_SHOWS, RUN_OVER}:
        return "", said
    shown = said.args.get("said", "") if said.code == RUN_SHOWS else said
    return str(said.args["run"]), Notice.model_validate(shown) if isinstance(shown, Mapping) else shown
