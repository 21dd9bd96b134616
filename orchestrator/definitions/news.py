"""The input that tells leads and administrators of a published definition; `orchestrator/features/definitions` brings it to them."""

from typing import Final

from orchestrator.domain.inputs import DefinitionNews
from state.clock import format_iso, generate_id
from state.definitions import Author
from state.journal.store import InboxRow

NEWS_SESSION: Final = "definition-news"
"""The session of these news. It is not that of the definitions themselves, whose lease nobody may keep."""


def build_news_row(author: Author, kind: str, key: str, version: int, *, note: str = "") -> InboxRow:
    """Return the inbox row that tells of a version which `author` publishes; it is stored in the same commit."""
    row_id = generate_id()
    return InboxRow(
        id=row_id,
        source=f"definition:{row_id}",
        session=NEWS_SESSION,
        lane="express",
        kind=DefinitionNews.KIND,
        actor={"key": author.key, "name": author.name},
        body=DefinitionNews(definition_kind=kind, key=key, version=version, at=format_iso(author.at), note=note).to_json(),
        received_at=author.at,
    )
