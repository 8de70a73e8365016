#!/usr/bin/env python3
"""How long an editor waits for `raddle lsp` in a program of 5000 lines.

    cargo build --release -p raddle-cli
    python3 xtask/lsp-latency.py target/release/raddle

Opens the program, types in the middle of it 40 times, and asks for hover, uses, completion and the outline: milliseconds
from what is sent to the answer, median and worst. A real client over the standard streams, as an editor is one.
"""

import json
import subprocess
import sys
import time

WORKER = """-- Worker number {k}.
PROC worker.{k} (VAL INT me, CHAN INT in?, out!, []INT table)
  INITIAL INT sum IS 0:
  SEQ
    SEQ i = 0 FOR SIZE table
      table[i] := (i * {k}) \\ 17
    WHILE sum < 1000
      INT x, y:
      SEQ
        in ? x
        y := (x * x) + {k}
        IF
          y > sum
            sum := sum + y
          TRUE
            sum := sum + 1
        out ! sum
:
PROC pair.{k} (CHAN INT in?, out!)
  CHAN INT c:
  [10]INT a, b:
  PAR
    worker.{k} (0, in?, c!, a)
    worker.{k} (1, c?, out!, b)
:
"""
MAIN = """PROC main (CHAN BYTE screen!)
  CHAN INT a, b:
  PAR
    numbers (a!)
    pair.0 (a?, b!)
    print (b?, screen!)
:
"""


def program():
    text, number = '#INCLUDE "course.module"\n', 0
    while text.count("\n") < 4990:
        text += WORKER.format(k=number)
        number += 1
    return text + MAIN


class Server:
    def __init__(self, command):
        self.process = subprocess.Popen([command, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, method, params, number=None):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = number
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.startswith(b"Content-Length"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def ask(self, method, params, number):
        self.send(method, params, number)
        while (answer := self.receive()).get("id") != number:
            pass
        return answer


def timed(work):
    begun = time.perf_counter()
    result = work()
    return (time.perf_counter() - begun) * 1000, result


def main():
    text, uri = program(), "file:///x/large.occ"
    lines = text.split("\n")
    at = next(i for i, line in enumerate(lines) if "y := (x * x)" in line and i > 2500)
    server = Server(sys.argv[1])
    server.ask("initialize", {}, 1)
    document = {"uri": uri, "languageId": "occam", "version": 1, "text": text}
    spent, said = timed(lambda: (server.send("textDocument/didOpen", {"textDocument": document}), server.receive())[1])
    print(f"{len(lines)} lines; opened: {spent:.1f} ms, {len(said['params']['diagnostics'])} diagnostics")
    times = []
    for version in range(2, 42):
        # A name that is not declared, and the right one again.
        where = {"start": {"line": at, "character": 8}, "end": {"line": at, "character": 9}}
        change = {"range": where, "text": "z" if version % 2 == 0 else "y"}
        params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
        spent, said = timed(lambda: (server.send("textDocument/didChange", params), server.receive())[1])
        wrong = len(said["params"]["diagnostics"])
        assert (wrong > 0) == (version % 2 == 0), said
        times.append(spent)
    times.sort()
    print(f"a key: median {times[len(times) // 2]:.1f} ms, worst {times[-1]:.1f} ms of {len(times)}")
    place = {"textDocument": {"uri": uri}, "position": {"line": at, "character": 8}}
    for method in ["hover", "references", "completion", "documentSymbol"]:
        params = dict(place, context={"includeDeclaration": True})
        spent, _ = timed(lambda: server.ask("textDocument/" + method, params, method))
        print(f"{method}: {spent:.1f} ms")
    server.ask("shutdown", None, 9)
    server.send("exit", None)
    sys.exit(server.process.wait())


main()
