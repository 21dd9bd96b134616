"""Scripts that try to leave the sandbox or to use it up, each with the code of the finding in which it must end."""

LOOP = "finding-script-time"
MEMORY = "finding-script-memory"
RAISED = "finding-script-raised"
NAME = "finding-script-name"
RESULT = "finding-script-result"
SYNTAX = "finding-script-syntax"

HOSTILE: dict[str, tuple[str, set[str]]] = {
    # endless work
    "loop": ("while True: pass", {LOOP}),
    "loop that catches": ("while True:\n  try:\n    while True: pass\n  except BaseException: pass", {LOOP}),
    "finally loop": ("try:\n  1/0\nfinally:\n  while True: pass", {LOOP}),
    "range": ("x = 0\nfor i in range(10**12): x += i\nx", {LOOP}),
    "recursion": ("def f(): return f()\nf()", {"finding-script-recursion"}),
    "mutual recursion": ("def f(): return g()\ndef g(): return f()\nf()", {"finding-script-recursion"}),
    "regular expression": ("import re\nre.match('(a|aa)+$', 'a' * 60 + 'b') and 1\nwhile True: pass", {LOOP, RAISED}),
    "sum of ranges": ("sum(sum(range(10**6)) for _ in range(10**6))", {LOOP, "finding-script-unsupported"}),
    "sort": ("a = [[-i] for i in range(10**6)]\nwhile True: a.sort()", {LOOP, MEMORY}),
    # memory
    "list": ("[0] * 10**9", {MEMORY}),
    "growing list": ("a = []\nwhile True: a.append('x' * 1000 + str(len(a)))", {MEMORY, LOOP}),
    "power": ("9**9**9", {MEMORY}),
    "stepwise power": ("x = 9\nfor i in range(60): x = x * x\nx", {MEMORY, LOOP}),
    "shift": ("1 << 10**12", {MEMORY, RAISED}),
    "width": ("f'{1:>1000000000}'", {MEMORY}),
    "percent width": ("'%1000000000d' % 1", {MEMORY}),
    "replace": ("('a' * 10**4).replace('a', 'b' * 10**6)", {MEMORY}),
    "join": ("','.join(['a' * 10**6] * 10**6)", {MEMORY}),
    "comprehensions": ("[[[0 for a in range(1000)] for b in range(1000)] for c in range(1000)]", {MEMORY, LOOP}),
    # ways out
    "os": ("import os\nos.system('id')", {RAISED}),
    "environment": ("import os\nos.environ", {RAISED}),
    "file": ("open('/etc/passwd').read()", {RAISED}),
    "path": ("from pathlib import Path\nPath('/etc/passwd').read_text()", {RAISED}),
    "write": ("open('/tmp/x', 'w').write('x')", {RAISED}),
    "subprocess": ("import subprocess", {RAISED}),
    "socket": ("import socket", {RAISED}),
    "our modules": ("import orchestrator.gate.gate", {RAISED}),
    "import function": ("__import__('os')", {NAME}),
    "subclasses": ("().__class__.__bases__[0].__subclasses__()", {RAISED}),
    "globals of a function": ("def f(): pass\nf.__globals__", {RAISED}),
    "globals of ours": ("look.__globals__", {RAISED, RESULT}),
    "format": ("'{0.__class__}'.format(1)", {RAISED}),
    "eval": ("eval(\"__import__('os')\")", {NAME, RAISED}),
    "input": ("input()", {NAME}),
    "clock": ("import time\ntime.time()", {RAISED}),
    # results that are no data
    "nan": ("float('nan')", {RESULT}),
    "infinity": ("[1e999]", {RESULT}),
    "bytes": ("b'x'", {RESULT}),
    "set": ("{1, 2}", {RESULT}),
    "cycle": ("a = []\na.append(a)\na", {RESULT}),
    "cycle in a key": ("a = {}\na['x'] = [a]\na", {RESULT}),
    "doubling": ("a = ['x']\nfor i in range(40): a = [a, a]\na", {RESULT}),
    "depth": ("a = []\nfor i in range(10**4): a = [a]\na", {RESULT}),
    "many": ("list(range(20000))", {RESULT}),
    "long": ("'x' * 10**6", {RESULT}),
    "large integer": ("2**53", {RESULT}),
    "key": ("{1: 2}", {RESULT}),
    "zero": ("'a\\0b'", {RESULT}),
    "function": ("lambda x: 1", {RESULT}),
    "type": ("int", {RESULT}),
    "class": ("class A: pass\nA", {RESULT}),
    "object": ("class A: pass\nA()", {RESULT}),
    "date": ("import datetime\ndatetime.date(2026, 1, 1)", {RESULT}),
    "exception": ("ValueError('x')", {RESULT}),
    "forgotten await": ("look(1)", {RESULT}),
    # texts that are no script
    "parentheses": ("(" * 10_000, {SYNTAX}),
    "signs": ("-" * 15_000 + "1", {SYNTAX}),
    "sum of ones": ("+".join(["1"] * 9_000), {SYNTAX}),
    "zero in the text": ("\x00", {SYNTAX}),
    "half of a character": ("x = '\ud800'", {SYNTAX}),
    "unclosed": ("def f(:", {SYNTAX}),
    "too long": ("x" * 100_000, {"finding-script-long"}),
    "yield": ("def f():\n  yield 1\nlist(f())", {"finding-script-unsupported"}),
    # floods
    "prints": ("while True: print('x')", {"finding-script-prints"}),
    "long print": ("print('x' * 10**6)", {"finding-script-prints"}),
    "calls": ("while True: await look(1)", {"finding-script-calls"}),
    "calls that catch": ("while True:\n  try:\n    await look(1)\n  except BaseException: pass", {"finding-script-calls"}),
    "names": ("try:\n  nope\nexcept NameError: pass\nraise ValueError('x' * 10**6)", {RAISED}),
    "exit": ("raise SystemExit(3)", {RAISED, "finding-script-crashed"}),
}
