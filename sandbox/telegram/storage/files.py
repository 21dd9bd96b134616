"""Stores files that were sent: their bytes in a folder, and their metadata in the database under a file_id."""

import hashlib
from pathlib import Path

from sandbox.telegram.storage.database import Database
from sandbox.telegram.wire import JsonObject, Upload


def store(db: Database, folder: Path, upload: Upload, *, place: str = "documents") -> JsonObject:
    """Store an uploaded file in the subfolder `place` of `folder`, and return its metadata.

    A file with the same name and bytes is stored only once, since the stored file's name is made of a hash of both.
    """
    digest = hashlib.sha256(upload.content + upload.name.encode()).hexdigest()
    suffix = Path(upload.name).suffix[:12]
    path = f"{place}/file_{digest[:16]}{suffix}"
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(upload.content)
    file_id = f"SBX{digest[:40]}"
    values = (file_id, path, upload.name, upload.mime, len(upload.content))
    db.run("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", *values)
    return {"file_id": file_id, "path": path, "name": upload.name, "mime": upload.mime, "size": len(upload.content)}


def find(db: Database, file_id: str) -> JsonObject | None:
    """Return the metadata of the file with this file_id, or None."""
    row = db.one("SELECT * FROM files WHERE file_id = ?", file_id)
    return dict(row) if row else None


def open_link(db: Database, path: str, *, until: float) -> None:
    """Let the file with this path be downloaded until this time, in seconds since 1970."""
    db.run("INSERT OR REPLACE INTO file_links VALUES (?, ?)", path, until)


def find_by_link(db: Database, path: str, *, now: float) -> JsonObject | None:
    """Return the metadata of the file with this path; None if `open_link` was not called for it, or its time is over."""
    row = db.one("SELECT files.* FROM files JOIN file_links USING (path) WHERE path = ? AND until > ?", path, now)
    return dict(row) if row else None
