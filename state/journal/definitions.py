"""The operations on stored definitions: each is one commit of rows and an event in stream `definitions`.

After DefinitionsBusy, repeat with a new `Author.at`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from state import canonical
from state.clock import format_iso, generate_id
from state.events.definitions import DefinitionPublished, DefinitionSwitched
from state.journal.definition_rows import DefinitionChange, KeyRow, StoredVersion, VersionRow
from state.journal.store import InboxRow, Store
from state.journal.stream_turn import format_writers, parse_writers, take_turn
from state.model.definitions import (
    EDITION,
    Author,
    DefinitionDamaged,
    DefinitionKey,
    DefinitionMissing,
    DefinitionUnstorable,
    DefinitionVersion,
    HistoryEntry,
    NotADraft,
    Origin,
    StaleRevision,
    Writer,
)

LONGEST_NAME: Final = 200
LARGEST_TEXT: Final = 4_000_000
MOST: Final = 1000
WriteSource = Callable[[Any], str]
"""Gets the document as it is stored, with its number; "" if it has no author's text."""


def write_no_source(_document: Any) -> str:
    return ""


def create_version(  # noqa: PLR0913 - what an author says of a version, each by its name
    store: Store,
    author: Author,
    kind: str,
    key: str,
    document: Any,
    *,
    title: str,
    note: str,
    what: Origin = "created",
    after: int | None = None,
    number_field: str = "",
    write_source: WriteSource = write_no_source,
    inbox_new: Sequence[InboxRow] = (),
) -> DefinitionVersion:
    """Store a new version as an inactive draft.

    The field `number_field` gets its number. `after` is the last version that the author knows (0: none). Raises StaleRevision for a later
    one, DefinitionUnstorable, DefinitionsBusy or another StoreError; then nothing has changed.
    """
    text = _encode(kind, key, document)
    known = store.definitions.find_key(kind, key)
    number = (known.last_version if known else 0) + 1
    source = _check_source(write_source(set_number(document, number_field, number)))  # before the turn: of a large text it takes seconds
    with take_turn(store, author) as turn:
        old, at = store.definitions.find_key(kind, key), format_iso(author.at)
        if after is not None and old is not None and old.last_version != after:
            raise StaleRevision(_to_version(_find_stored(store, kind, key, old.last_version)[1]))
        version = (old.last_version if old else 0) + 1
        if (numbered := set_number(document, number_field, version)) is not document:
            text = _encode(kind, key, numbered)
        if version != number:  # somebody else made one meanwhile
            source = _check_source(write_source(numbered))
        row = VersionRow(
            id=generate_id(),
            kind=kind,
            key=key,
            version=version,
            status="draft",
            revision=1,
            title=canonical.to_storable_text(title),
            digest=canonical.hash_text(text),
            note=canonical.to_storable_text(note),
            author=author.key,
            author_name=canonical.to_storable_text(author.name),
            writers=format_writers([Writer(key=author.key, user=author.user)]),
            created_at=at,
            updated_at=at,
            updated_by=author.key,
            published_by="",
            published_by_name="",
            published_at="",
            edition=0,
            source=_hash_source(source),
        )
        old = old or KeyRow(kind, key, "", 1, 0, 0, 0, 1, "", "")
        head = _update_head(old, author, last_version=row.version, drafts=old.drafts + 1, title=_pick_title(old, row))
        turn.save(head, row, text, source, what, inbox_new)
    return _to_version(StoredVersion(row, active=False, text=text, source=source))


def save_version(  # noqa: PLR0913 - as `create_version`
    store: Store,
    author: Author,
    kind: str,
    key: str,
    version: int,
    document: Any,
    *,
    title: str,
    note: str,
    expected: int,
    number_field: str = "",
    write_source: WriteSource = write_no_source,
) -> DefinitionVersion:
    """Replace a draft's text.

    Raises StaleRevision, NotADraft, DefinitionMissing, and as `create_version`; then nothing has changed.
    """
    numbered = set_number(document, number_field, version)
    text, source = _encode(kind, key, numbered), _check_source(write_source(numbered))
    with take_turn(store, author) as turn:
        old, stored = _find_stored(store, kind, key, version)
        if stored.row.status != "draft":
            raise NotADraft(_to_version(stored))
        if stored.row.revision != expected:
            raise StaleRevision(_to_version(stored))
        row = stored.row._replace(
            revision=stored.row.revision + 1,
            title=canonical.to_storable_text(title),
            digest=canonical.hash_text(text),
            note=canonical.to_storable_text(note),
            writers=format_writers([*parse_writers(stored.row.writers), Writer(key=author.key, user=author.user)]),
            updated_at=format_iso(author.at),
            updated_by=author.key,
            source=_hash_source(source),
        )
        turn.save(_update_head(old, author, title=_pick_title(old, row)), row, text, source, "saved")
    return _to_version(StoredVersion(row, active=False, text=text, source=source))


def publish_version(  # noqa: PLR0913 - as `create_version`
    store: Store,
    author: Author,
    kind: str,
    key: str,
    version: int,
    *,
    expected: int,
    over: int | None = None,
    check: Callable[[DefinitionVersion], None],
    note: str = "",
    inbox_new: Sequence[InboxRow] = (),
) -> DefinitionVersion:
    """Publish and activate a version; nothing happens if it is active.

    `check` raises what forbids it, within seconds. `over` is the active version that the person knows (0: none; None: not said). Raises
    StaleRevision for another one, DefinitionDamaged, and as `save_version`; then nothing has changed.
    """
    with take_turn(store, author) as turn:
        old, stored = _find_stored(store, kind, key, version)
        present = _to_version(stored)
        if present.revision != expected:
            raise StaleRevision(present)
        if present.active:
            return present
        if over is not None and old.active_version != over:
            raise StaleRevision(_to_version(_find_stored(store, kind, key, old.active_version)[1]) if old.active_version else present)
        check(present)
        row = stored.row._replace(
            status="published",
            revision=stored.row.revision + 1,
            published_by=author.key,
            published_by_name=canonical.to_storable_text(author.name),
            published_at=format_iso(author.at),
            edition=stored.row.edition if stored.row.published_at else EDITION,
        )
        event = DefinitionPublished(
            kind=kind,
            definition=key,
            version=version,
            revision=row.revision,
            digest=row.digest,
            replaced=old.active_version,
            edition=row.edition,
            note=canonical.to_storable_text(note),
            **turn.who,
        )
        changed, history = [row], [turn.build_history(event, "published")]
        if old.active_version:
            before = _find_stored(store, kind, key, old.active_version)[1].row
            changed.append(before._replace(revision=before.revision + 1))
            history.append(history[0]._replace(id=generate_id(), version=before.version, what="deactivated", note="", digest=before.digest))
        drafts = old.drafts - (stored.row.status == "draft")
        head = _update_head(old, author, title=row.title, active_version=version, drafts=drafts, revision=old.revision + 1)
        turn.commit(event, DefinitionChange(head=head, changed=changed, history=history), inbox_new)
    return _to_version(StoredVersion(row, active=True, text=stored.text, source=stored.source))


def switch_key(store: Store, author: Author, kind: str, key: str, *, enabled: bool, expected: int, note: str = "") -> DefinitionKey:
    """Switch a definition off or on as a whole; nothing happens if it is so.

    Raises StaleRevision, DefinitionMissing, DefinitionsBusy or another StoreError; then nothing has changed.
    """
    with take_turn(store, author) as turn:
        old = store.definitions.find_key(kind, key)
        if old is None:
            raise DefinitionMissing(f"there is no definition {kind}/{key}")
        if old.revision != expected:
            raise StaleRevision(_to_key(old))
        if bool(old.enabled) == enabled:
            return _to_key(old)
        active = store.definitions.find_version(kind, key, old.active_version)
        event = DefinitionSwitched(
            kind=kind,
            definition=key,
            version=old.active_version,
            digest=active.row.digest if active else "",
            enabled=enabled,
            note=canonical.to_storable_text(note),
            **turn.who,
        )
        head = _update_head(old, author, enabled=int(enabled), revision=old.revision + 1)
        entry = turn.build_history(event, "switched_on" if enabled else "switched_off")
        turn.commit(event, DefinitionChange(head=head, history=[entry]))
    return _to_key(head)


def list_keys(store: Store, kind: str = "", after: str = "", limit: int = MOST) -> list[DefinitionKey]:
    """In order of kind ("" for all) and key, after the `DefinitionKey.place` `after`."""
    last_kind, _, last_key = after.partition("/")
    return [_to_key(row) for row in store.definitions.list_keys(kind, (last_kind, last_key), min(limit, MOST))]


def find_key(store: Store, kind: str, key: str) -> DefinitionKey | None:
    key_row = store.definitions.find_key(kind, key)
    return _to_key(key_row) if key_row is not None else None


def find_version(store: Store, kind: str, key: str, version: int = 0) -> DefinitionVersion | None:
    """For 0 the last version. Raises DefinitionDamaged."""
    if not version:
        head = store.definitions.find_key(kind, key)
        version = head.last_version if head is not None else 0
    return _to_found(store.definitions.find_version(kind, key, version))


def find_by_id(store: Store, version_id: str) -> DefinitionVersion | None:
    """Raises DefinitionDamaged."""
    return _to_found(store.definitions.find_by_id(version_id))


def find_active(store: Store, kind: str, key: str) -> DefinitionVersion | None:
    """Return what runs begin with; None also if it is switched off. Raises DefinitionDamaged."""
    return _to_found(store.definitions.find_active(kind, key))


def list_versions(store: Store, kind: str, key: str) -> list[DefinitionVersion]:
    """Without documents, the last one first."""
    return [_build_version(stored, None) for stored in store.definitions.list_versions(kind, key)]


def list_history(store: Store, kind: str, key: str, limit: int = MOST) -> list[HistoryEntry]:
    return [HistoryEntry(**row._asdict()) for row in store.definitions.list_history(kind, key, min(limit, MOST))]


def set_number(document: Any, field: str, version: int) -> Any:
    """Put the number, which the store alone gives (S002-A14), where the document has one."""
    return {**document, field: version} if field and isinstance(document, dict) and field in document else document


def _encode(kind: str, key: str, document: Any) -> str:
    """Raises DefinitionUnstorable."""
    for name in (kind, key):
        if not name.isprintable() or not 0 < len(name) <= LONGEST_NAME or "/" in name:
            raise DefinitionUnstorable(f"the name of a kind or key has 1 to {LONGEST_NAME} printable characters, and no / among them")
    try:
        text = canonical.dumps(document)
    except canonical.NotCanonical as error:
        raise DefinitionUnstorable(f"the document cannot be stored: {error}") from error
    if (size := len(text.encode())) > LARGEST_TEXT:
        raise DefinitionUnstorable(f"the document has {size} bytes, and {LARGEST_TEXT} are the most")
    return text


def _check_source(source: str) -> str:
    """Raises DefinitionUnstorable."""
    if source != canonical.to_storable_text(source):
        raise DefinitionUnstorable("the text of the definition has signs that cannot be stored")
    if (size := len(source.encode())) > LARGEST_TEXT:
        raise DefinitionUnstorable(f"the text of the definition has {size} bytes, and {LARGEST_TEXT} are the most")
    return source


def _hash_source(source: str) -> str:
    return canonical.hash_text(source) if source else ""


def _find_stored(store: Store, kind: str, key: str, version: int) -> tuple[KeyRow, StoredVersion]:
    head, stored = store.definitions.find_key(kind, key), store.definitions.find_version(kind, key, version)
    if head is None or stored is None:
        raise DefinitionMissing(f"there is no version {version} of {kind}/{key}")
    return head, stored


def _update_head(head: KeyRow, author: Author, **values: Any) -> KeyRow:
    return head._replace(updated_at=format_iso(author.at), updated_by=author.key, **values)


def _pick_title(head: KeyRow, row: VersionRow) -> str:
    return head.title if head.active_version or row.version < head.last_version else row.title


def _to_key(row: KeyRow) -> DefinitionKey:
    return DefinitionKey(
        kind=row.kind,
        key=row.key,
        title=row.title,
        enabled=bool(row.enabled),
        active_version=row.active_version,
        last_version=row.last_version,
        has_draft=row.drafts > 0,
        revision=row.revision,
        updated_at=row.updated_at,
        updated_by=row.updated_by,
    )


def _to_found(stored: StoredVersion | None) -> DefinitionVersion | None:
    return _to_version(stored) if stored is not None else None


def _to_version(stored: StoredVersion) -> DefinitionVersion:
    """Raises DefinitionDamaged."""
    if stored.text is None or canonical.hash_text(stored.text) != stored.row.digest:
        raise DefinitionDamaged(f"the text of version {stored.row.version} of {stored.row.kind}/{stored.row.key} is not as it was saved")
    return _build_version(stored, canonical.loads(stored.text))


def _build_version(stored: StoredVersion, document: Any) -> DefinitionVersion:
    values = stored.row._asdict()
    values["writers"] = parse_writers(stored.row.writers)
    source = stored.source or ""
    values["source"] = source if _hash_source(source) == stored.row.source else ""
    return DefinitionVersion(**values, active=stored.active, document=document)
