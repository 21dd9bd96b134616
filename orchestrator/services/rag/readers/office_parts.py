"""The parts of an office file: an archive of XML, in which nothing outside of it is named or fetched."""

import posixpath
import zipfile
from collections.abc import Iterator
from typing import BinaryIO, Final

from lxml import etree

from orchestrator.services.rag.document import UnreadableDocument

_RELATION: Final = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


class OfficeFile:
    """Names of parts are found without regard to case and slashes, as office programs do."""

    def __init__(self, file: BinaryIO) -> None:
        """Raises UnreadableDocument."""
        try:
            self._archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError):
            raise UnreadableDocument("broken") from None
        self._names = {_fold(name): name for name in self._archive.namelist()}

    def list_parts(self, begin: str) -> list[str]:
        """By name."""
        return sorted(name for name in self._names if name.startswith(begin))

    def has(self, part: str) -> bool:
        return _fold(part) in self._names

    def read(self, part: str) -> bytes:
        """Empty for a part that is not there. Raises UnreadableDocument."""
        name = self._names.get(_fold(part))
        if name is None:
            return b""
        try:
            return self._archive.read(name)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError, RuntimeError):
            raise UnreadableDocument("broken") from None

    def parse(self, part: str) -> etree._Element | None:
        """None for a part that is not there. Raises UnreadableDocument."""
        data = self.read(part)
        return parse_xml(data) if data else None

    def iterate(self, part: str, *tags: str) -> Iterator[etree._Element]:
        """Ended elements, each of which is emptied after its turn. Raises UnreadableDocument."""
        name = self._names.get(_fold(part))
        if name is None:
            return
        try:
            with self._archive.open(name) as file:
                for _, element in etree.iterparse(file, tag=tags, resolve_entities=False, no_network=True, huge_tree=True):
                    yield element
                    element.clear(keep_tail=False)
        except (etree.LxmlError, zipfile.BadZipFile, OSError, ValueError, EOFError):
            raise UnreadableDocument("broken") from None

    def find_targets(self, part: str) -> dict[str, str]:
        """The parts that a part names, by their ids."""
        folder, name = posixpath.split(_fold(part))
        root = self.parse(posixpath.join(folder, "_rels", f"{name}.rels"))
        if root is None:
            return {}
        targets = {
            relation.get("Id", ""): relation.get("Target", "")
            for relation in root.iter(_RELATION)
            if relation.get("TargetMode") != "External"
        }
        return {
            one: _fold(target) if target.startswith(("/", "\\")) else posixpath.normpath(posixpath.join(folder, _fold(target)))
            for one, target in targets.items()
        }


def parse_xml(data: bytes) -> etree._Element:
    """Raises UnreadableDocument."""
    try:
        return etree.fromstring(
            data, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True, remove_pis=True)
        )
    except (etree.LxmlError, ValueError):
        raise UnreadableDocument("broken") from None


def _fold(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()
