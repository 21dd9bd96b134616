"""The operations on stored definitions: each is one commit that changes rows and adds an event to the stream of session `definitions`.

Whoever changes something holds the lease of that session (the right to write it) for the moment, so that two changes never mix: the second
one reads what the first one stored. Call them with `AsyncStore.write` and `AsyncStore.read`; repeat an operation that raises
DefinitionsBusy, with a new `Author.at`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from state import canonical
from state.clock import format_iso, generate_id
from state.events.definitions import DefinitionPublished, DefinitionSwitched
from state.journal.definition_rows import DefinitionChange, KeyRow, StoredVersion, VersionRow
from state.journal.definition_turn import format_writers, parse_writers, take_turn
from state.journal.store import InboxRow, Store
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
from state.stored import convert

LONGEST_NAME: Final = 200
"""The most characters of a kind or key, so that an index takes them."""
LARGEST_TEXT: Final = 4_000_000
"""The most bytes of a document as canonical JSON."""
MOST: Final = 1000
"""How many entries a list returns at most."""


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
    inbox_new: Sequence[InboxRow] = (),
) -> DefinitionVersion:
    """Store a new version as an inactive draft, and the definition itself if it is new; return the version.

    `number_field` is the field of the document that gets the number of the version, if the document has it. `inbox_new` are inputs to
    store in the same commit. With `after`, the last version that the author knows (0 for none), nothing is stored behind a later one.
    Raises StaleRevision for that one, DefinitionUnstorable, DefinitionsBusy or another StoreError; then nothing has changed.
    """
    text = _encode(kind, key, document)
    with take_turn(store, author) as turn:
        old, at = store.definitions.find_key(kind, key), format_iso(author.at)
        if after is not None and old is not None and old.last_version != after:
            raise StaleRevision(_to_version(_find_stored(store, kind, key, old.last_version)[1]))
        version = (old.last_version if old else 0) + 1
        if (numbered := set_number(document, number_field, version)) is not document:
            text = _encode(kind, key, numbered)
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
        )
        old = old or KeyRow(kind, key, "", 1, 0, 0, 0, 1, "", "")
        head = _update_head(old, author, last_version=row.version, drafts=old.drafts + 1, title=_pick_title(old, row))
        turn.save(head, row, text, what, inbox_new)
    return _to_version(StoredVersion(row, active=False, text=text))


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
) -> DefinitionVersion:
    """Replace the text of a draft and return the version; `number_field` as `create_version` takes it.

    Raises StaleRevision if its revision is not `expected`, NotADraft if it is published, DefinitionMissing, and what `create_version`
    raises; then nothing has changed.
    """
    text = _encode(kind, key, set_number(document, number_field, version))
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
        )
        turn.save(_update_head(old, author, title=_pick_title(old, row)), row, text, "saved")
    return _to_version(StoredVersion(row, active=False, text=text))


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
    """Make a version published and active, and the one that was active inactive; return the version.

    A version that was published earlier becomes active again; for the one that is active already nothing happens. `check` gets the version
    as it is stored, which nobody can change until this has ended, and raises what forbids to publish it; it must be done within seconds.
    `over` is the version that the person knows as the active one (0 for none), None if they do not say. Raises StaleRevision if another one
    is active, or the revision is not `expected`, DefinitionDamaged, and what `save_version` raises but NotADraft; then nothing has changed.
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
    return _to_version(StoredVersion(row, active=True, text=stored.text))


def switch_key(store: Store, author: Author, kind: str, key: str, *, enabled: bool, expected: int, note: str = "") -> DefinitionKey:
    """Switch a definition off as a whole, so that `find_active` finds nothing, or on again; return it.

    If it is switched so already, nothing happens. Raises StaleRevision if its revision is not `expected`, DefinitionMissing,
    DefinitionsBusy or another StoreError; then nothing has changed.
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
    """Return the definitions of a kind, of all kinds if it is "", in order of kind and key.

    `after` is the `DefinitionKey.place` of the last one that the caller has.
    """
    last_kind, _, last_key = after.partition("/")
    return [_to_key(row) for row in store.definitions.list_keys(kind, (last_kind, last_key), min(limit, MOST))]


def find_key(store: Store, kind: str, key: str) -> DefinitionKey | None:
    """Return the definition as a whole, None if there is none."""
    found = store.definitions.find_key(kind, key)
    return _to_key(found) if found is not None else None


def find_version(store: Store, kind: str, key: str, version: int = 0) -> DefinitionVersion | None:
    """Return one version of a definition, the last one for 0; None if there is none. Raises DefinitionDamaged."""
    if not version:
        head = store.definitions.find_key(kind, key)
        version = head.last_version if head is not None else 0
    return _to_found(store.definitions.find_version(kind, key, version))


def find_by_id(store: Store, version_id: str) -> DefinitionVersion | None:
    """Return the version with that id, None if there is none. Raises DefinitionDamaged."""
    return _to_found(store.definitions.find_by_id(version_id))


def find_active(store: Store, kind: str, key: str) -> DefinitionVersion | None:
    """Return the version that runs begin with; None if none is active or the definition is switched off. Raises DefinitionDamaged."""
    return _to_found(store.definitions.find_active(kind, key))


def list_versions(store: Store, kind: str, key: str) -> list[DefinitionVersion]:
    """Return all versions of a definition without their documents (`document` is None), the last one first."""
    return [_build_version(stored, None) for stored in store.definitions.list_versions(kind, key)]


def list_history(store: Store, kind: str, key: str, limit: int = MOST) -> list[HistoryEntry]:
    """Return the newest changes of a definition, newest first."""
    return [HistoryEntry(**row._asdict()) for row in store.definitions.list_history(kind, key, min(limit, MOST))]


def set_number(document: Any, field: str, version: int) -> Any:
    """Return the document with the number of its version, which the store alone gives (S002-A14), where it says one."""
    return {**document, field: version} if field and isinstance(document, dict) and field in document else document


def _encode(kind: str, key: str, document: Any) -> str:
    """Return the canonical text of the document. Raises DefinitionUnstorable for it, and for a name that cannot be stored."""
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


def _find_stored(store: Store, kind: str, key: str, version: int) -> tuple[KeyRow, StoredVersion]:
    head, stored = store.definitions.find_key(kind, key), store.definitions.find_version(kind, key, version)
    if head is None or stored is None:
        raise DefinitionMissing(f"there is no version {version} of {kind}/{key}")
    return head, stored


def _update_head(head: KeyRow, author: Author, **values: Any) -> KeyRow:
    return head._replace(updated_at=format_iso(author.at), updated_by=author.key, **values)


def _pick_title(head: KeyRow, row: VersionRow) -> str:
    """Return the title that the list shows once `row` is saved: that of the active version if there is one, else that of the last."""
    return head.title if head.active_version or row.version < head.last_version else row.title


def _to_key(row: KeyRow) -> DefinitionKey:
    return convert(row, DefinitionKey, enabled=bool(row.enabled), has_draft=row.drafts > 0)


def _to_found(stored: StoredVersion | None) -> DefinitionVersion | None:
    return _to_version(stored) if stored is not None else None


def _to_version(stored: StoredVersion) -> DefinitionVersion:
    """Return the version with its document. Raises DefinitionDamaged if its text is missing or is not the one that was saved."""
    if stored.text is None or canonical.hash_text(stored.text) != stored.row.digest:
        raise DefinitionDamaged(f"the text of version {stored.row.version} of {stored.row.kind}/{stored.row.key} is not as it was saved")
    return _build_version(stored, canonical.loads(stored.text))


def _build_version(stored: StoredVersion, document: Any) -> DefinitionVersion:
    values = stored.row._asdict()
    values["writers"] = parse_writers(stored.row.writers)
    return DefinitionVersion(**values, active=stored.active, document=document)
