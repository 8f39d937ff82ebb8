"""A plugin in a process of its own, and the host's end of its sockets: what the tests of the kit hold in their hands."""
import fcntl
import json
import mmap
import os
import pathlib
import select
import socket
import sys
import tempfile
import unittest

KIT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(KIT))

import waybill_plugin as waybill  # noqa: E402
import waybill_testing  # noqa: E402
from waybill_plugin import I32, I64, TWO_U32, U32, U64, Kind, frame, pair_list, read_texts, text, text_list  # noqa: E402

LIMIT = 60  # seconds: for what never comes
HEADER = "import asyncio, os, sys, threading\nimport waybill_plugin as waybill\n"
FOOTER = '\nif __name__ == "__main__":\n    waybill.run()\n'
ONE_ACTION = [{"type": "x", "reasons": ["refused"]}]
BLOCKING = [{"type": "x", "reasons": ["refused"], "blocking": True}]


def job_fields(number, asked="sender", *, attempt=1, maybe_sent_before=0, deadline_ms=30_000, since=0, page="", **texts):
    """Those of `begin`. `texts` are the job's: str, bytes, or what is written as JSON."""
    plain = {name: value if isinstance(value, (str, bytes)) else json.dumps(value) for name, value in texts.items()}
    given = {"idempotency_key": f"key-{number}", "destination": "{}", "context": "{}", **plain}
    return (waybill.BEGIN.pack(number, waybill.ROLES.index(asked), attempt, maybe_sent_before, deadline_ms),
            *(text(given.get(name, "")) for name in waybill.JOB_TEXTS), I64.pack(since), text(page))


def response_fields(request_id, status=200, body=b"", *, error=None, reach="answered", headers=(), retry_after_ms=-1):
    return (waybill.RESPONSE.pack(request_id, waybill.ERRORS[error], waybill.REACHES[reach], status, 0, retry_after_ms),
            text(body), text("as scripted" if error else ""), pair_list(list(headers)))


class PluginProcess:
    """Its program is `source` between HEADER and FOOTER, or a whole `program`."""

    def __init__(self, test, source="", actions=None, *, plugin_json=None, program=None):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "sender.py").write_text(program or HEADER + source + FOOTER)
        if plugin_json is None:
            described = {"id": "t", "version": "1", "command": ["python3", "sender.py"], "actions": actions or ONE_ACTION}
            plugin_json = json.dumps(described)
        (self.folder / "plugin.json").write_text(plugin_json)
        self._start()
        test.addCleanup(self._end)

    def _start(self):
        self.stream, their_stream = socket.socketpair()
        self.questions, their_questions = socket.socketpair()
        page = os.memfd_create("page")
        os.ftruncate(page, waybill.PAGE_BYTES)
        self._page_memory = mmap.mmap(page, waybill.PAGE_BYTES)
        self._page = memoryview(self._page_memory).cast("Q")
        lines, their_lines = os.pipe()
        self.errors = tempfile.TemporaryFile()
        ends = {1: their_lines, 2: self.errors.fileno(), 3: their_stream.fileno(), 4: their_questions.fileno(), 5: page}
        copies = {place: fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 64) for place, end in ends.items()}  # out of the places' way
        self.pid = os.posix_spawn(
            "/usr/bin/env", ["env", "-C", str(self.folder), sys.executable, "-B", "sender.py"],
            {"PYTHONPATH": str(KIT), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            file_actions=[(os.POSIX_SPAWN_DUP2, copy, place) for place, copy in copies.items()])
        for descriptor in (*copies.values(), their_lines, page):
            os.close(descriptor)
        their_stream.close()
        their_questions.close()
        self._lines = os.fdopen(lines, "rb", buffering=0)
        self.stream.settimeout(LIMIT)
        self.questions.settimeout(LIMIT)
        self._frames, self._asked = waybill.Frames(), waybill.Frames()
        self._came, self._questions_came = [], []
        self.exit_code = None

    def _end(self):
        self.stream.close()
        self.questions.close()
        self.wait()
        self._lines.close()
        self.errors.close()
        self._page.release()
        self._page_memory.close()

    def wait(self):
        """The exit code."""
        if self.exit_code is None:
            pidfd = os.pidfd_open(self.pid)
            if not select.select([pidfd], [], [], LIMIT)[0]:
                os.kill(self.pid, 9)
            os.close(pidfd)
            self.exit_code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.exit_code

    # ---- the stream ----

    def say(self, *messages):
        """Each is a frame."""
        self.stream.sendall(b"".join(messages))

    def read(self):
        """The next message: (kind, body)."""
        while not self._came:
            data = self.stream.recv(1 << 20)
            if not data:
                raise EOFError(f"its process has ended: {self.error_text()}")
            self._came += self._frames.cut(data)
        return self._came.pop(0)

    def expect(self, kind):
        """The body of the next message, which is of this kind."""
        came, body = self.read()
        if came != kind:
            raise AssertionError(f"message {came} came, not {kind}: {body!r}; {self.error_text()}")
        return body

    def greet(self, major=1):
        """The refusal in its hello."""
        self.say(frame(Kind.WELCOME, TWO_U32.pack(major, 1), text("9.9.9")))
        hello = self.expect(Kind.HELLO)
        self.versions = TWO_U32.unpack_from(hello)
        (self.descriptor, refusal), at = read_texts(hello, 8, 2)
        self.lives_again = U32.unpack_from(hello, at)[0]
        return refusal.decode()

    def create(self, action_type="x", settings="{}"):
        """(done, abilities, problems)"""
        self.say(frame(Kind.CREATE, text(action_type), text(settings)))
        created = self.expect(Kind.CREATED)
        return (*TWO_U32.unpack_from(created), _pairs(created, 8))

    def check(self, what, data, action_type="x"):
        self.say(frame(Kind.CHECK, U32.pack(what), text(action_type), text(data)))
        checked = self.expect(Kind.CHECKED)
        return U32.unpack_from(checked)[0], _pairs(checked, 4)

    def begin(self, number, asked="sender", **job):
        self.say(frame(Kind.BEGIN, *job_fields(number, asked, **job)))

    def completed(self):
        """(call, outcome) of the next message."""
        return outcome_of(self.expect(Kind.COMPLETE))

    def expect_fetch(self):
        """(call, id, its other fields) of the next message."""
        body = self.expect(Kind.FETCH)
        return (*waybill.CALL_AND_ID.unpack_from(body), body[16:])

    def expect_timer(self):
        """(call, id, milliseconds) of the next message."""
        body = self.expect(Kind.TIMER)
        return (*waybill.CALL_AND_ID.unpack_from(body), I64.unpack_from(body, 16)[0])

    def settle(self, number=1):
        self.say(frame(Kind.SETTLE, U64.pack(number)))

    # ---- questions, lines, the page ----

    def answer_question(self, answer):
        """`answer`: a function of the kind and the body that gives (status, values)."""
        while not self._questions_came:
            self._questions_came += self._asked.cut(self.questions.recv(1 << 20))
        status, values = answer(*self._questions_came.pop(0))
        self.questions.sendall(frame(Kind.ANSWER, I32.pack(status), text_list(values)))

    def line(self):
        """The next line of its standard output."""
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([self._lines], [], [], LIMIT)[0]:
                raise AssertionError(f"no line came after {line!r}")
            byte = self._lines.read(1)
            if not byte:
                raise EOFError("its standard output was closed")
            line += byte
        return line[:-1].decode()

    def error_text(self):
        size = os.fstat(self.errors.fileno()).st_size
        return os.pread(self.errors.fileno(), size, 0).decode()

    @property
    def inside(self):
        """(call, since in nanoseconds) of the page."""
        return self._page[0], self._page[1]

    @property
    def taken_up(self):
        return self._page[2]


def outcome_of(body):
    """(call, Outcome) of a `complete`."""
    return U64.unpack_from(body)[0], waybill_testing.read_outcome(body)


def _pairs(body, at):
    count, at = waybill.read_count(body, at, 8)
    said = [one.decode() for one in read_texts(body, at, 2 * count)[0]]
    return list(zip(said[::2], said[1::2]))


class ProcessTest(unittest.TestCase):
    def start(self, source, actions=None, create="x", settings="{}"):
        """A process that was greeted and has a sender."""
        process = PluginProcess(self, source, actions)
        self.assertEqual(process.greet(), "")
        self.assertEqual(process.create(create, settings)[0], 1)
        return process

    def gate(self):
        """A file in which a plugin's code waits until release(): open(path).read()."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "gate")
        os.mkfifo(path)
        return path


def release(gate):
    with open(gate, "wb"):
        pass
