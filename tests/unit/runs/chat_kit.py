"""A chat with runs as its person sees it: the messages so far, and presses on the buttons of the last one."""

from typing import Any

from orchestrator.domain.inputs import FeatureClick
from state.clock import generate_id
from state.journal.store import InboxRow, OutboxRow
from tests.unit.spine_kit import ANNA, CHAT, NOW, World


class Chat:
    """What the person has seen in the chat of a world."""

    def __init__(self, world: World) -> None:
        """Begin with an empty chat."""
        self._world, self._rows = world, list[OutboxRow]()

    def look(self) -> list[OutboxRow]:
        """All messages so far."""
        self._rows += self._world.outbox()
        return self._rows

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The buttons of the last message that has some."""
        return [row for row in self.look() if row.kind == "reply" and row.body["actions"]][-1].body["actions"]  # type: ignore[no-any-return]

    @property
    def labels(self) -> list[str]:
        """These buttons, by their own words or the code of their sentence."""
        return [str(one["label"]["args"].get("label") or one["label"]["code"]) for one in self.asked]

    def press(self, label: str) -> InboxRow:
        """A press on the one of them that has this label."""
        words = tuple(self.asked[self.labels.index(label)]["words"])
        fresh = generate_id()
        return InboxRow(
            id=fresh, source=f"click:{fresh}", session=CHAT, lane="express", kind=FeatureClick.KIND, actor=ANNA.model_dump(mode="json"),
            body=FeatureClick(words=words, callback_id=fresh).to_json(), received_at=NOW,
        )  # fmt: skip

    @property
    def codes(self) -> list[str]:
        """The codes of all sentences that were said."""
        return [one["code"] for row in self.look() if row.kind == "reply" for one in row.body["notices"]]

    @property
    def toasts(self) -> list[str]:
        """The codes of all answers to presses."""
        return [row.body["notice"]["code"] for row in self.look() if row.kind == "toast"]

    @property
    def texts(self) -> list[str]:
        """The texts of all messages."""
        return [part["text"] for row in self.look() if row.kind == "reply" for part in row.body["parts"]]
