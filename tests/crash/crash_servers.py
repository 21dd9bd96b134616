"""The world around a program that gets killed: a portal and a model on loopback, who look into its database at every request."""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from spine_kit import raise_sum, reply, step
from spine_portal import CODE, Portal

UPDATE, CREATE, BATCH, CHOICE = "подними сумму сделки 481 до 1 200 000", "создай сделку Новая", "измени сделки 481 и 482", "поставь задачу Анне"
SCRIPT = (UPDATE, CREATE, BATCH)
WRITES = frozenset({"crm.deal.update", "crm.deal.add", "tasks.task.add"})
_BATCH = {"a": "crm.deal.update?id=481&fields[STAGE_ID]=WON", "b": "crm.deal.update?id=482&fields[STAGE_ID]=WON"}
_ANSWERS = {
    UPDATE: [reply(raise_sum(), text="Жду решения.")],
    CREATE: [reply(step("crm.deal.add", {"fields": {"TITLE": "Новая"}}), text="Создаю."), reply(text="Создана.")],
    BATCH: [reply(step("batch", {"cmd": _BATCH}), text="Жду решения.")],
    CHOICE: [
        reply(step("tasks.task.add", {"fields": {"TITLE": "Звонок", "DESCRIPTION": "@user:Анна", "RESPONSIBLE_ID": "@me"}}), text="Ставлю."),
        reply(text="Поставлена."),
    ],
}


@dataclass
class Around:
    """What the servers know and have seen; `database` is the file of the present run."""

    database: Path
    portal: Portal = field(default_factory=Portal)
    asked: list[tuple[str, int]] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    port: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def webhook(self) -> str:
        return f"http://127.0.0.1:{self.port}/rest/1/{CODE}/"

    def call(self, method: str, params: dict[str, Any]) -> tuple[int, bytes]:
        """A call of the portal; a write must have its intent in the database already."""
        with self.lock:
            if method in WRITES or (method == "batch" and ".update" in json.dumps(params)):
                started = self._rows("select call from effects where status = 'started'")
                sent = params if method != "batch" else {**params, "halt": int(params["halt"])}
                if sent not in [json.loads(call)["call"]["params"] for (call,) in started]:
                    self.violations.append(f"{method} was sent without its intent")
            answer = self.portal.answer(method, params)
            return answer.status_code, answer.content

    def complete(self, messages: list[dict[str, str]]) -> str:
        """An answer of the model; what was answered durably must not be asked again."""
        with self.lock:
            text = next(item["content"] for item in reversed(messages) if item["role"] == "user" and not item["content"].startswith("OBSERVATION"))
            place = sum(1 for item in messages if item["content"].startswith("OBSERVATION"))
            answered = self._rows(
                "select count(*) from events a join events m on json_extract(m.data, '$.turn_id') = json_extract(a.data, '$.turn_id')"
                " where a.type = 'ModelAnswered' and m.type = 'MessageReceived' and json_extract(m.data, '$.text') = ?"
                " and json_extract(a.data, '$.iteration') = ?",
                (text, place + 1),
            )
            if answered[0][0]:
                self.violations.append(f"the model was asked again for {text!r}, iteration {place + 1}")
            self.asked.append((text, place))
            return _ANSWERS[text][place]

    def _rows(self, sql: str, params: tuple[Any, ...] = ()) -> list[Any]:
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection:
            return connection.execute(sql, params).fetchall()


@contextmanager
def served(around: Around) -> Iterator[Around]:
    """Both servers on one free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path.startswith("/rest/"):
                status, content = around.call(self.path.rpartition("/")[2], body)
            else:
                said = {"message": {"role": "assistant", "content": around.complete(body["messages"])}, "finish_reason": "stop", "index": 0}
                whole = {"model": "scripted", "choices": [said], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
                status, content = 200, json.dumps(whole).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except ConnectionError:
                self.close_connection = True  # the program was killed while we answered

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name the library gives it
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    around.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield around
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
