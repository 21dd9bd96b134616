"""The people of the lab, who is told of changes in the portal, and what hears their recordings. Imported by the child only."""

from collections.abc import Sequence
from datetime import UTC, datetime

from bot.access.access import Access, Person
from orchestrator.domain.actor import Actor
from tests.crash.lab_flows import LEAD
from tests.crash.lab_script import SESSION

ACTOR = Actor(key=SESSION, name="Анна", bitrix_user_id=7)
VERA = Actor(key=LEAD, name="Вера", role="lead", bitrix_user_id=6, sees="all")
OTHERS = {"lead": VERA, "colleague": Actor(key="tg:8", name="Борис", bitrix_user_id=8)}


class Listeners:
    """Whoever is told of changes in the portal: the person."""

    def find_subscribers(self, user_id: int) -> Sequence[Actor]:
        """The person, if this employee."""
        return [ACTOR] if user_id == ACTOR.bitrix_user_id else []

    def list_watched_users(self) -> Sequence[int]:
        """The one employee."""
        return [7]


class Hearing:
    """Recordings that are the words themselves, and an ear for them."""

    async def read(self, file_id: str, limit: int) -> bytes:
        """The recording."""
        return file_id.encode()[:limit]

    async def transcribe(self, recording: bytes, *, language: str) -> str:
        """Its words."""
        del language
        return recording.decode()


def staff() -> Access:
    """A list of people with a head of sales. It is noon where they are, so that nobody is left alone because of the night."""
    hour = datetime.now(UTC).hour
    zone = f"Etc/GMT{hour - 12:+d}" if hour != 12 else "Etc/GMT"
    return Access(
        [
            Person(telegram_id=7, name="Анна", bitrix_user_id=7, lead=6, time_zone=zone),
            Person(telegram_id=6, name="Вера", bitrix_user_id=6, role="lead", time_zone=zone),
            Person(telegram_id=8, name="Борис", bitrix_user_id=8, time_zone=zone),
        ]
    )
