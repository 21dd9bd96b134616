"""A wire to PostgreSQL that can be cut: a proxy on the loopback that knows where a question and an answer end."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sqlalchemy import make_url

Cut = Literal["before", "in the question", "after", "before the end of the answer"]
READY = b"Z\x00\x00\x00\x05"
"""How the message begins by which the server says that a transaction is through; one letter follows."""


@dataclass
class Wire:
    """The proxy. `order` cuts the connection that next carries `mark`."""

    url: str
    """The address of the database by way of the proxy."""
    cuts: int = 0
    _order: tuple[Cut, bytes] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def order(self, cut: Cut, mark: bytes) -> None:
        """Cut once, where the next question goes over that holds `mark`."""
        self._order = (cut, mark)

    def ordered(self, question: bytes) -> Cut | None:
        """What is to be done with this question; each order is carried out once."""
        with self._lock:
            if self._order is None or self._order[1] not in question:
                return None
            cut, self._order = self._order[0], None
            self.cuts += 1
            return cut


@contextmanager
def wired(url: str) -> Iterator[Wire]:
    """A wire to the database of `url`, gone when the block ends."""
    given = make_url(url)
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        query = {name: value for name, value in given.query.items() if name not in {"host", "port"}} | {
            "sslmode": "disable",
            "gssencmode": "disable",
        }
        wire = Wire(given.set(host="127.0.0.1", port=port, query=query).render_as_string(hide_password=False))
        ends: list[socket.socket] = []
        threading.Thread(target=_accepting, args=(door, _dialling(url), wire, ends), daemon=True).start()
        yield wire
        door.shutdown(socket.SHUT_RDWR)
        for end in ends:
            _shut(end)


def _dialling(url: str) -> Callable[[], socket.socket]:
    given = make_url(url)
    folder = given.query.get("host")
    port = int(given.port or 5432)

    def dial() -> socket.socket:
        if isinstance(folder, str):
            end = socket.socket(socket.AF_UNIX)
            end.connect(str(Path(folder) / f".s.PGSQL.{port}"))
            return end
        return socket.create_connection((given.host or "127.0.0.1", port))

    return dial


def _accepting(door: socket.socket, dial: Callable[[], socket.socket], wire: Wire, ends: list[socket.socket]) -> None:
    with suppress(OSError):
        while True:
            client, _ = door.accept()
            server = dial()
            ends += [client, server]
            said: list[Cut] = []
            threading.Thread(target=_asking, args=(client, server, wire, said), daemon=True).start()
            threading.Thread(target=_answering, args=(client, server, said), daemon=True).start()


def _asking(client: socket.socket, server: socket.socket, wire: Wire, said: list[Cut]) -> None:
    with suppress(OSError):
        while data := client.recv(1 << 20):
            cut = wire.ordered(data)
            if cut == "before":
                break
            if cut == "in the question":
                server.sendall(data[: len(data) // 2])
                break
            if cut is not None:
                said.append(cut)
            server.sendall(data)
    if not said:  # else the answer is waited for
        _shut(client)
        _shut(server)


def _answering(client: socket.socket, server: socket.socket, said: list[Cut]) -> None:
    answer = b""
    with suppress(OSError):
        while data := server.recv(1 << 20):
            if not said:
                client.sendall(data)
                continue
            answer += data
            if answer[-6:-1] == READY:  # what follows is kept by now
                if said[0] == "before the end of the answer":
                    client.sendall(answer[:-6])
                break
    _shut(client)
    _shut(server)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
