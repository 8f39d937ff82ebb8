"""An HTTP server for the tests of clients that does what a script says, one step a request, and keeps what it was sent.

A step is an Answer or one of the words of WAYS. Without a step left it acknowledges whatever comes. As a program it prints its port; what another
program tells it and asks it is then at /control: a POST of steps ([status, body, {headers}] or a word), a GET of {"requests", "connections"}.
"""
import collections
import json
import socket
import struct
import threading
from typing import NamedTuple

WAYS = (
    "drop",         # read the request, close without a word
    "reset",        # the same, with RST
    "half",         # an acknowledgement that ends before its Content-Length
    "drip",         # one byte at a time, without end
    "hang",         # no answer, until the other side closes
    "no_json",      # 200 with something else
    "no_http",      # bytes that are no answer
    "close_later",  # an acknowledgement, and then the connection is closed though it said nothing of that
)


class Answer(NamedTuple):
    status: int
    body: object = None  # JSON, or bytes as they are
    headers: tuple = ()  # pairs


class Request(NamedTuple):
    connection: int
    method: str
    target: str
    headers: dict  # by names in small letters
    body: bytes

    def json(self):
        return json.loads(self.body)


class Misbehaving:
    """Use it in a `with`. Safe from any thread; a thread for each connection."""

    def __init__(self, *script, tls=None):
        self.lock, self.steps, self.seen, self.connections = threading.Lock(), collections.deque(script), [], 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port, self.tls, self.open = self.listener.getsockname()[1], tls, []
        self.url = ("https" if tls else "http") + "://localhost:%d" % self.port
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        with self.lock:
            for connection in self.open:
                close(connection)

    def requests(self):
        with self.lock:
            return list(self.seen)

    def then(self, *script):
        with self.lock:
            self.steps.extend(script)

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
                number = self.connections
                self.open.append(connection)
            threading.Thread(target=self.serve, args=(connection, number), daemon=True).start()

    def serve(self, connection, number):
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as stream:
                while (request := read(stream, number)) is not None:
                    if request.target == "/control":
                        self.control(connection, request)
                        continue
                    with self.lock:
                        self.seen.append(request)
                        step = self.steps.popleft() if self.steps else None
                    if not self.meet(connection, request, step):
                        return
        except OSError:
            pass

    def control(self, connection, request):
        if request.method == "POST":
            self.then(*[step if isinstance(step, str) else Answer(step[0], step[1], tuple(step[2].items())) for step in request.json()])
        with self.lock:
            told = {"connections": self.connections,
                    "requests": [{**seen._asdict(), "body": seen.body.decode("latin-1")} for seen in self.seen]}
        connection.sendall(text_of(Answer(200, told)))

    def meet(self, connection, request, step):
        """Whether the connection is kept."""
        if step is None or isinstance(step, Answer):
            connection.sendall(text_of(step or acknowledgement(request)))
            return True
        assert step in WAYS, step
        if step == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif step == "half":
            connection.sendall(text_of(acknowledgement(request))[:-5])
        elif step == "drip":
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Drip: ")
            while True:
                connection.sendall(b"x")
                threading.Event().wait(0.02)
        elif step == "hang":
            connection.recv(1)
        elif step == "no_json":
            connection.sendall(text_of(Answer(200, b"<html>")))
            return True
        elif step == "no_http":
            connection.sendall(b"220 mail.example ESMTP\r\n\r\n")
        elif step == "close_later":
            connection.sendall(text_of(acknowledgement(request)))
        return False


def close(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()


def read(stream, number):
    first = stream.readline().decode("latin-1").split()
    if len(first) != 3:
        return None
    headers = {}
    while (line := stream.readline().strip()):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return Request(number, first[0], first[1], headers, stream.read(int(headers.get("content-length", 0))))


def acknowledgement(request):
    """As the host's to an intent, or to each of a batch."""
    body = json.loads(request.body) if request.body else {}
    if isinstance(body, list):
        return Answer(200, {"results": [{"status": 200, "intent": intent_of(item)} for item in body]})
    return Answer(200, intent_of(body))


def intent_of(body):
    return {"intentId": body.get("intentId", "unknown"), "submissionTarget": body.get("submissionTarget", "unknown"),
            "createdAt": "2026-01-01T00:00:00.000000Z", "status": "pending"}


def text_of(answer):
    body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
    lines = ["HTTP/1.1 %d Word" % answer.status, "Content-Type: application/json", "Content-Length: %d" % len(body)]
    lines += ["%s: %s" % pair for pair in answer.headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


if __name__ == "__main__":
    print(Misbehaving().port, flush=True)
    threading.Event().wait()
