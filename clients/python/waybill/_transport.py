"""Requests over connections that are kept alive, each with a deadline of its own, repeated until a time limit."""
import http.client
import io
import json
import os
import random
import socket
import ssl
import threading
import time
import urllib.parse
from email.utils import parsedate_to_datetime
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import errors
from ._version import __version__

REPEATED = (429, 502, 503, 504)
LOST = (OSError, http.client.HTTPException)  # also time-outs, half answers, and what is no HTTP
MAX_IDLE_SECONDS = 30.0  # what lies longer may be dropped by a firewall, without a word
FIRST_PAUSE, MAX_PAUSE = 0.2, 10.0
PARTS = 65536


class _Deadline:
    """A socket whose every wait ends at one time, however slowly bytes drip. It has what http.client uses of a socket; as there, one that
    was closed stays open until its file has been read."""

    def __init__(self, plain: socket.socket) -> None:
        self.plain = plain
        self.end = 0.0
        self.users = 1

    def left(self) -> float:
        left = self.end - time.monotonic()
        if left <= 0:
            raise socket.timeout("no whole answer in time")
        return left

    def sendall(self, data: Any) -> None:
        view = memoryview(data).cast("B")
        while view:
            self.plain.settimeout(self.left())
            view = view[self.plain.send(view[:PARTS]):]

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        self.users += 1
        return io.BufferedReader(_Reader(self))

    def close(self) -> None:
        self.users -= 1
        if self.users == 0:
            self.plain.close()


class _Reader(io.RawIOBase):
    def __init__(self, deadline: _Deadline) -> None:
        self.deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.deadline.plain.settimeout(self.deadline.left())
        return self.deadline.plain.recv_into(buffer)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self.deadline.close()


class Answer(NamedTuple):
    status: int
    body: Any  # of JSON; None for anything else
    retry_after: Optional[float]  # seconds


class Transport:
    """Safe from any thread, and after a fork."""

    def __init__(self, url: str, token: Optional[str], timeout: float, time_limit: float, max_idle: int,
                 tls: Optional[ssl.SSLContext]) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ValueError("the URL must be http(s)://HOST[:PORT][/PREFIX]")
        if timeout <= 0 or time_limit <= 0:
            raise ValueError("time-outs must be greater than 0")
        self.host, self.port, self.prefix = parts.hostname, parts.port, parts.path.rstrip("/")
        self.tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self.headers = {"Accept": "application/json", "User-Agent": f"waybill-python/{__version__}"}
        if token is not None:
            self.headers["Authorization"] = f"Bearer {token}"
        self.timeout, self.time_limit, self.max_idle = timeout, time_limit, max_idle
        self._lock = threading.Lock()
        self._idle: List[Tuple[float, http.client.HTTPConnection]] = []
        self._process = os.getpid()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def call(self, method: str, path: str, body: Any = None, query: Optional[Dict[str, Any]] = None,
             headers: Optional[Dict[str, str]] = None, extra: float = 0.0, limit: Optional[float] = None) -> Any:
        """The answer's JSON. extra: how much longer than usual the host may take. limit: instead of the client's own."""
        end = time.monotonic() + (self.time_limit if limit is None else limit) + extra
        content = None if body is None else encoded(body)
        answer = self._until(end, method, self.prefix + path + query_text(query), content, {**self.headers, **(headers or {})}, extra)
        if 200 <= answer.status < 300:
            return answer.body
        raise errors.api_error(answer.status, answer.body, answer.retry_after)

    def _until(self, end: float, method: str, target: str, content: Optional[bytes], headers: Dict[str, str], extra: float) -> Answer:
        attempt = 0
        while True:
            answer: Optional[Answer] = None
            lost: Optional[Exception] = None
            try:
                answer = self._once(method, target, content, headers, min(time.monotonic() + self.timeout + extra, end))
                if answer.status not in REPEATED:
                    return answer
            except ssl.SSLCertVerificationError as error:  # another attempt would not help
                raise errors.Unreachable(str(error)) from error
            except LOST as error:
                lost = error
            pause = pause_before(attempt, answer.retry_after if answer else None)
            attempt += 1
            if time.monotonic() + pause >= end:
                if answer is not None:
                    return answer
                raise errors.Unreachable(f"no answer after {attempt} attempts: {lost or type(lost).__name__}") from lost
            time.sleep(pause)

    def _once(self, method: str, target: str, content: Optional[bytes], headers: Dict[str, str], end: float) -> Answer:
        """One request; a second one at once where the host closed a connection that lay idle."""
        connection = self._take()
        if connection is not None:
            try:
                return self._exchange(connection, method, target, content, headers, end)
            except LOST:
                if time.monotonic() >= end:
                    raise
        return self._exchange(self._connect(end), method, target, content, headers, end)

    def _connect(self, end: float) -> http.client.HTTPConnection:
        seconds = max(end - time.monotonic(), 0.001)
        if self.tls is not None:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(self.host, self.port, timeout=seconds, context=self.tls)
        else:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=seconds)
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        connection.sock = _Deadline(connection.sock)
        return connection

    def _exchange(self, connection: http.client.HTTPConnection, method: str, target: str, content: Optional[bytes],
                  headers: Dict[str, str], end: float) -> Answer:
        kept = False
        try:
            connection.sock.end = end
            if content is not None:
                headers = {**headers, "Content-Type": "application/json"}
            connection.request(method, target, content, headers)
            response = connection.getresponse()
            text = response.read()
            answer = Answer(response.status, decoded(text), seconds_after(response.getheader("Retry-After")))
            if 200 <= answer.status < 300 and answer.body is None:
                raise http.client.HTTPException("the answer is no JSON")
            kept = not response.will_close
            return answer
        finally:
            if kept:
                self._give_back(connection)
            else:
                connection.close()

    def _take(self) -> Optional[http.client.HTTPConnection]:
        """The one that was used last."""
        with self._lock:
            if self._process != os.getpid():  # they are the parent's, and stay open there
                for _, connection in self._idle:
                    connection.close()
                self._idle, self._process = [], os.getpid()
            oldest = time.monotonic() - MAX_IDLE_SECONDS
            while self._idle and self._idle[0][0] < oldest:
                self._idle.pop(0)[1].close()
            return self._idle.pop()[1] if self._idle else None

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < self.max_idle:
                self._idle.append((time.monotonic(), connection))
                return
        connection.close()


def pause_before(attempt: int, retry_after: Optional[float]) -> float:
    """Before repeating attempt number 0, 1, ...: never less than the host asks for, and never in step with other clients."""
    longest = min(FIRST_PAUSE * 2 ** min(attempt, 16), MAX_PAUSE)
    if retry_after is not None:
        return retry_after + random.uniform(0, longest)
    return random.uniform(longest / 2, longest)


def seconds_after(text: Optional[str]) -> Optional[float]:
    """Of Retry-After: seconds or a date."""
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (TypeError, ValueError, OverflowError):
        return None


def encoded(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def decoded(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def query_text(query: Optional[Dict[str, Any]]) -> str:
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return "?" + urllib.parse.urlencode(given) if given else ""
