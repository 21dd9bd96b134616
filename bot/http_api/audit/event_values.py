"""What conversions of events need: the caller's language, and the names of people."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from bot.http_api.approvals.card_models import ApiModel, Person
from bot.i18n.translate import Translator
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Action
from orchestrator.runs.questions import BUTTON
from state.journal.store import StoredEvent

Present = Callable[[Actor], Actor | None]


@dataclass(frozen=True, kw_only=True)
class EventReader:
    tr: Translator
    refresh_actor: Present
    shows_words: bool = True
    """What people said to a run and what its nodes gave."""

    def find_person(self, key: str, name: str = "") -> Person | None:
        """None for an empty key; `name` replaces the present name."""
        if not key:
            return None
        known = self.refresh_actor(Actor(key=key, name=""))
        return Person(id=key, name=name or (known.name if known else ""))


EventFields = Mapping[str, object] | None
Convert = Callable[[EventReader, StoredEvent], EventFields]


class Button(ApiModel):
    """A button under a message of a run; the caller presses it by sending its `token` as the next message."""

    label: str
    token: str = Field(description="Send it as `message` to /chat to press the button.")


def to_buttons(actions: Sequence[Action], tr: Translator) -> list[Button]:
    """Those that can be pressed over HTTP: the buttons of runs."""
    usable = [action for action in actions if action.words and action.words[0] == BUTTON]
    return [Button(label=tr.translate_notice(action.label), token=":".join(action.words)) for action in usable]
