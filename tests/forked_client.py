"""Stands in the place of a process that the forker started (see forker.py): `forked_client.py SOCKET [-m] PROGRAM ARGUMENTS…`."""

import contextlib
import json
import os
import resource
import select
import signal
import socket
import struct
import sys

_HANDED_ON = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT}


def _ask(forker: socket.socket, words: list[str]) -> None:
    module = words[0] == "-m"
    order = {
        "module": module,
        "program": words[module],
        "arguments": words[module + 1 :],
        "environment": dict(os.environ),
        "folder": os.getcwd(),  # noqa: PTH109 - pathlib takes as long to import as all the rest
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
    }
    text = json.dumps(order).encode()
    socket.send_fds(forker, [struct.pack("!i", len(text))], [0, 1, 2])
    forker.sendall(text)


def _handed_on(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def main(where: str, *words: str) -> int:
    """Its exit code; of one that a signal ended, the same signal."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDED_ON)
    with socket.socket(socket.AF_UNIX) as forker, forker.makefile("rb", buffering=0) as said:
        forker.connect(where)
        _ask(forker, list(words))
        pid = int(said.readline())
        for one in (0, 1, 2):
            os.close(one)
        for number in _HANDED_ON:
            signal.signal(number, lambda got, _: _handed_on(pid, got))
        woken, wakes = os.pipe()
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes)  # else a signal that comes just before it begins to wait would be handed on only at the end
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDED_ON)
        while forker not in select.select([forker, woken], [], [])[0]:
            os.read(woken, 4096)
        code = int(said.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code in _HANDED_ON else None
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    os._exit(main(*sys.argv[1:]))
