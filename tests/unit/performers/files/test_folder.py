"""The folder of files: nothing outside of it is reached, and nothing that is no ordinary file is opened."""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.performers.files import folder as folder_module
from orchestrator.performers.files.folder import MAX_BYTES, MAX_ENTRIES, FileDoubtful, FileRefused, Folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    (inside / "note.txt").write_text("was")
    return inside


def find_code(act: Callable[[], object]) -> str:
    with pytest.raises(FileRefused) as refused:
        act()
    return refused.value.code


def list_names(place: Path) -> list[str]:
    return sorted(file.name for file in place.iterdir())


def digest_of(root: Path, *parts: str) -> str:
    found = Folder(root).read(parts)
    return found.digest


def test_a_file_is_replaced_as_a_whole_with_its_mode_and_nothing_is_left_beside_it(root: Path) -> None:
    (root / "note.txt").chmod(0o640)
    Folder(root).write(("note.txt",), b"will be", expected=digest_of(root, "note.txt"))
    assert (root / "note.txt").read_bytes() == b"will be"
    assert (root / "note.txt").stat().st_mode & 0o777 == 0o640
    assert list_names(root) == ["note.txt"]


def test_a_new_file_gets_its_folders(root: Path) -> None:
    Folder(root).write(("отчёты", "2026", "июль.txt"), "сумма".encode(), expected=None)
    assert (root / "отчёты" / "2026" / "июль.txt").read_text() == "сумма"


@pytest.mark.parametrize("link", ["../outside", "/etc", "."])
def test_no_part_of_a_path_may_be_a_link(root: Path, link: str) -> None:
    (root / "away").symlink_to(link)
    folder = Folder(root)
    assert find_code(lambda: folder.read(("away", "secret.txt"))) == "file-not-folder"
    assert find_code(lambda: folder.write(("away", "new.txt"), b"x", expected=None)) == "file-not-folder"
    assert find_code(lambda: folder.list_entries(("away",))) == "file-not-folder"
    assert not (root.parent / "outside" / "new.txt").exists()


@pytest.mark.parametrize("target", ["../outside/secret.txt", "../outside/new.txt", "note.txt", "/dev/zero"])
def test_a_file_that_is_a_link_is_not_read_not_written_and_not_deleted(root: Path, target: str) -> None:
    (root / "link.txt").symlink_to(target)
    folder = Folder(root)
    assert find_code(lambda: folder.read(("link.txt",))) == "file-not-ordinary"
    assert find_code(lambda: folder.write(("link.txt",), b"x", expected=None)) == "file-not-ordinary"
    assert find_code(lambda: folder.delete(("link.txt",), expected="0")) == "file-not-ordinary"
    assert (root.parent / "outside" / "secret.txt").read_text() == "secret"
    assert not (root.parent / "outside" / "new.txt").exists()


def test_a_file_with_a_second_name_is_not_touched(root: Path) -> None:
    os.link(root.parent / "outside" / "secret.txt", root / "twin.txt")
    folder = Folder(root)
    assert find_code(lambda: folder.read(("twin.txt",))) == "file-not-ordinary"
    assert find_code(lambda: folder.write(("twin.txt",), b"x", expected=None)) == "file-not-ordinary"
    assert (root.parent / "outside" / "secret.txt").read_text() == "secret"


def test_a_pipe_and_a_socket_are_refused_without_waiting(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # the address of a socket has at most 108 bytes
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        assert find_code(lambda: Folder(root).read(("pipe",))) == "file-not-ordinary"
        assert find_code(lambda: Folder(root).read(("socket",))) == "file-not-ordinary"
        assert find_code(lambda: Folder(root).write(("pipe",), b"x", expected=None)) == "file-not-ordinary"


def test_a_file_that_becomes_a_pipe_between_look_and_opening_is_refused_without_waiting(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = os.stat

    def swap(*args: object, **named: object) -> os.stat_result:
        seen = honest(*args, **named)  # type: ignore[arg-type]
        (root / "note.txt").unlink()
        os.mkfifo(root / "note.txt")
        return seen

    monkeypatch.setattr(folder_module.os, "stat", swap)
    assert find_code(lambda: Folder(root).read(("note.txt",))) == "file-not-ordinary"


def test_a_file_that_becomes_a_link_between_look_and_opening_is_not_followed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = os.stat

    def swap(*args: object, **named: object) -> os.stat_result:
        seen = honest(*args, **named)  # type: ignore[arg-type]
        (root / "note.txt").unlink()
        (root / "note.txt").symlink_to("../outside/secret.txt")
        return seen

    monkeypatch.setattr(folder_module.os, "stat", swap)
    assert find_code(lambda: Folder(root).read(("note.txt",))) == "file-not-ordinary"


def test_a_folder_that_becomes_a_link_while_a_file_is_written_leads_nowhere(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "deep").mkdir()
    honest = os.fsync
    swapped: list[bool] = []

    def swap(handle: int) -> None:
        if not swapped:
            swapped.append(True)
            (root / "deep").rename(root / "moved")
            (root / "deep").symlink_to("../outside")
        honest(handle)

    monkeypatch.setattr(folder_module.os, "fsync", swap)
    Folder(root).write(("deep", "new.txt"), b"x", expected=None)
    assert list_names(root.parent / "outside") == ["secret.txt"]
    assert (root / "moved" / "new.txt").read_bytes() == b"x"


def swap_at_rename(root: Path, monkeypatch: pytest.MonkeyPatch, put: Callable[[Path], object]) -> None:
    """Put something else in the place of note.txt right before it is replaced."""
    honest = os.rename

    def swap(old: str, new: str, **named: int) -> None:
        (root / "note.txt").unlink()
        put(root / "note.txt")
        honest(old, new, **named)

    monkeypatch.setattr(folder_module.os, "rename", swap)


def test_a_link_that_comes_before_the_renaming_is_replaced_and_not_followed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = root.parent / "outside" / "secret.txt"
    known = digest_of(root, "note.txt")
    swap_at_rename(root, monkeypatch, lambda place: place.symlink_to(secret))
    Folder(root).write(("note.txt",), b"will be", expected=known)
    assert (secret.read_text(), (root / "note.txt").is_symlink(), (root / "note.txt").read_text()) == ("secret", False, "will be")


def test_a_second_name_that_comes_before_the_renaming_keeps_its_content(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = root.parent / "outside" / "secret.txt"
    known = digest_of(root, "note.txt")
    swap_at_rename(root, monkeypatch, lambda place: os.link(secret, place))
    Folder(root).write(("note.txt",), b"will be", expected=known)
    assert (secret.read_text(), (root / "note.txt").read_text()) == ("secret", "will be")


def test_a_folder_that_comes_before_the_renaming_is_left_as_it_is(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = digest_of(root, "note.txt")
    swap_at_rename(root, monkeypatch, lambda place: place.mkdir())
    assert find_code(lambda: Folder(root).write(("note.txt",), b"will be", expected=known)).startswith("file-")
    assert list_names(root) == ["note.txt"]
    assert list_names(root / "note.txt") == []


@pytest.mark.parametrize("made", ["deep", "deeper"])
def test_a_new_folder_that_becomes_a_link_before_it_is_opened_leads_nowhere(root: Path, monkeypatch: pytest.MonkeyPatch, made: str) -> None:
    honest = os.mkdir

    def swap(name: str, mode: int, *, dir_fd: int) -> None:
        honest(name, mode, dir_fd=dir_fd)
        if name == made:
            os.rmdir(name, dir_fd=dir_fd)
            os.symlink(str(root.parent / "outside"), name, dir_fd=dir_fd)

    monkeypatch.setattr(folder_module.os, "mkdir", swap)
    assert find_code(lambda: Folder(root).write(("deep", "deeper", "new.txt"), b"x", expected=None)) == "file-not-folder"
    assert list_names(root.parent / "outside") == ["secret.txt"]


def test_a_folder_that_is_moved_out_while_it_is_listed_shows_nothing_of_its_new_place(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "deep").mkdir()
    (root / "deep" / "a.txt").write_text("a")
    honest = os.scandir

    def swap(place: int) -> object:
        (root / "deep").rename(root / "moved")
        (root / "deep").symlink_to(root.parent / "outside")
        return honest(place)

    monkeypatch.setattr(folder_module.os, "scandir", swap)
    assert [entry.name for entry in Folder(root).list_entries(("deep",)).entries] == ["a.txt"]


def test_a_file_that_grows_while_it_is_read_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = os.fstat

    def grow(handle: int) -> os.stat_result:
        found = honest(handle)
        with (root / "note.txt").open("ab") as file:
            file.write(b"x" * (MAX_BYTES + 1))
        return found

    monkeypatch.setattr(folder_module.os, "fstat", grow)
    assert find_code(lambda: Folder(root).read(("note.txt",))) == "file-too-large"


@pytest.mark.parametrize("parts", [("fd", "0"), ("cwd", "x"), ("root", "etc", "passwd"), ("exe",), ("mem",), ("environ",)])
def test_the_files_of_a_process_are_not_reached_by_a_link(root: Path, parts: tuple[str, ...]) -> None:
    """Not even if somebody puts a link to /proc/self into the folder."""
    (root / "self").symlink_to("/proc/self")
    assert find_code(lambda: Folder(root).read(("self", *parts))) == "file-not-folder"


def test_a_name_that_looks_encoded_is_a_name(root: Path) -> None:
    Folder(root).write(("%2e%2e", "x.txt"), b"x", expected=None)
    assert (root / "%2e%2e" / "x.txt").exists()
    assert list_names(root.parent) == ["inside", "outside"]


def test_a_name_that_differs_only_in_its_capitals_is_taken(root: Path) -> None:
    (root / "Отчёты").mkdir()
    folder = Folder(root)
    assert find_code(lambda: folder.write(("NOTE.txt",), b"x", expected=None)) == "file-name-taken"
    assert find_code(lambda: folder.write(("отчёты", "a.txt"), b"x", expected=None)) == "file-name-taken"
    assert list_names(root) == ["note.txt", "Отчёты"]


def test_a_file_of_10_gb_is_refused_without_being_read(root: Path) -> None:
    with (root / "huge.txt").open("wb") as huge:
        huge.truncate(10 * 2**30)
    assert find_code(lambda: Folder(root).read(("huge.txt",))) == "file-too-large"
    assert find_code(lambda: Folder(root).write(("new.txt",), b"x" * (MAX_BYTES + 1), expected=None)) == "file-too-large"
    assert not (root / "new.txt").exists()


def test_a_change_by_others_is_not_overwritten(root: Path) -> None:
    known = digest_of(root, "note.txt")
    (root / "note.txt").write_text("changed by a person")
    folder = Folder(root)
    assert find_code(lambda: folder.write(("note.txt",), b"x", expected=known)) == "file-changed"
    assert find_code(lambda: folder.delete(("note.txt",), expected=known)) == "file-changed"
    assert find_code(lambda: folder.write(("note.txt",), b"x", expected=None)) == "file-changed"
    assert find_code(lambda: folder.delete(("gone.txt",), expected=known)) == "file-changed"
    assert find_code(lambda: folder.delete(("no", "gone.txt"), expected=known)) == "file-changed"
    assert (root / "note.txt").read_text() == "changed by a person"
    assert list_names(root) == ["note.txt"]


def test_a_folder_is_neither_read_nor_replaced_nor_deleted(root: Path) -> None:
    (root / "deep").mkdir()
    folder = Folder(root)
    assert find_code(lambda: folder.read(("deep",))) == "file-is-folder"
    assert find_code(lambda: folder.write(("deep",), b"x", expected=None)) == "file-is-folder"
    assert find_code(lambda: folder.delete(("deep",), expected="0")) == "file-is-folder"
    assert find_code(lambda: folder.list_entries(("note.txt",))) == "file-not-folder"


def test_a_folder_that_was_removed_is_named(root: Path) -> None:
    (root / "note.txt").unlink()
    root.rmdir()
    folder = Folder(root)
    assert find_code(lambda: folder.read(("note.txt",))) == "file-folder-gone"
    assert find_code(lambda: folder.write(("note.txt",), b"x", expected=None)) == "file-folder-gone"


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.ENOSPC, "file-disk-full"), (errno.EDQUOT, "file-disk-full"), (errno.EROFS, "file-read-only"), (errno.EIO, "file-disk-trouble")],
)
@pytest.mark.parametrize("call", ["write", "fsync", "rename", "fchmod"])
def test_a_disk_that_fails_leaves_the_old_content_and_nothing_else(
    root: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, code: str
) -> None:
    known = digest_of(root, "note.txt")

    def fail(*_args: object, **_named: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as broken:
        broken.setattr(folder_module.os, call, fail)
        assert find_code(lambda: Folder(root).write(("note.txt",), b"will be", expected=known)) == code
    assert (root / "note.txt").read_text() == "was"
    assert list_names(root) == ["note.txt"]


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_the_whole_content(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = os.write
    monkeypatch.setattr(folder_module.os, "write", lambda handle, data: honest(handle, data[:3]))
    Folder(root).write(("new.txt",), b"0123456789", expected=None)
    assert (root / "new.txt").read_bytes() == b"0123456789"


def test_a_change_that_the_disk_does_not_confirm_is_doubtful(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = os.fsync
    passed: list[int] = []

    def fail_at_second(handle: int) -> None:
        passed.append(handle)
        if len(passed) > 1:
            raise OSError(errno.EIO, "Input/output error")
        honest(handle)

    monkeypatch.setattr(folder_module.os, "fsync", fail_at_second)
    with pytest.raises(FileDoubtful):
        Folder(root).write(("new.txt",), b"x", expected=None)


def test_a_listing_holds_what_can_be_named_and_counts_the_rest(root: Path) -> None:
    (root / ".hidden").write_text("x")
    (root / "away").symlink_to("../outside")
    os.mkfifo(root / "pipe")
    (root / "и\u0306.txt").write_text("x")
    (root / "архив").mkdir()
    listing = Folder(root).list_entries(())
    assert (listing.entries[0].name, listing.entries[0].is_folder) == ("архив", True)
    assert [(entry.name, entry.size) for entry in listing.entries if not entry.is_folder] == [("note.txt", 3)]
    assert listing.left_out == 4


def test_a_listing_is_bounded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(MAX_ENTRIES + 5):
        (root / f"{number}.txt").touch()
    listing = Folder(root).list_entries(())
    assert (len(listing.entries), listing.left_out) == (MAX_ENTRIES, 6)
    monkeypatch.setattr(folder_module, "MAX_SCANNED", 100)
    assert find_code(lambda: Folder(root).list_entries(())) == "file-too-many"
    assert find_code(lambda: Folder(root).write(("new.txt",), b"x", expected=None)) == "file-too-many"


def test_no_descriptor_stays_open(root: Path) -> None:
    (root / "away").symlink_to("../outside")
    folder = Folder(root)
    before = len(list_names(Path("/proc/self/fd")))
    for parts in [("note.txt",), ("no", "x"), ("away", "x"), ("away",), ("note.txt", "x")]:
        for act in (folder.read, folder.list_entries, lambda where: folder.delete(where, expected="0")):
            try:
                act(parts)
            except FileRefused:
                continue
    assert len(list_names(Path("/proc/self/fd"))) == before
