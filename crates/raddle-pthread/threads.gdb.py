"""For gdb: `source threads.gdb.py`, then `raddle-threads` shows the program's threads; gdb sees the workers only.

gdb lets the program go for a moment, since its own watcher has to answer, and attaches again. `raddle` is looked for on
the path, or where RADDLE says. The library's own signals are passed on without a stop.
"""

import os
import subprocess

import gdb

for signal in ("SIG61", "SIG62", "SIG63"):
    gdb.execute(f"handle {signal} nostop noprint pass", to_string=True)


class RaddleThreads(gdb.Command):
    """Show the threads of a program on Raddle: what each waits for or does, who holds that, and its frames."""

    def __init__(self):
        super().__init__("raddle-threads", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        process = gdb.selected_inferior().pid
        if process == 0:
            raise gdb.GdbError("there is no program: attach to one, or run it")
        gdb.execute("detach", to_string=True)
        try:
            command = [os.environ.get("RADDLE", "raddle"), "dump", str(process)]
            said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout
        except OSError as refused:
            said = f"could not start `raddle dump`: {refused}\n".encode()
        gdb.execute(f"attach {process}", to_string=True)
        gdb.write(said.decode(errors="replace"))


RaddleThreads()
