"""Waybill's kit for plugins in Python: a program that runs in a process of its own, beside the host.

    import waybill_plugin as waybill

    @waybill.sender("my_destination")
    async def send(job, host):
        answer = await host.fetch("POST", job.destination["url"], json=job.payload)
        return waybill.judge(answer, "invalid_request")

    if __name__ == "__main__":
        waybill.run()

The host does all work on the network and knows all secrets; this process turns jobs into requests and answers into outcomes.
docs/plugins-python.md is the page for authors; docs/plugin-protocol.md says what the two tell each other. It needs Python 3.11
and nothing else. Times are in seconds.
"""
import asyncio
import collections
import collections.abc
import concurrent.futures
import contextlib
import inspect
import itertools
import json
import math
import mmap
import os
import selectors
import signal
import socket
import stat
import struct
import sys
import threading
import time
import traceback

if sys.version_info < (3, 11):
    sys.exit("waybill_plugin needs Python 3.11 or later; this is " + ".".join(map(str, sys.version_info[:3])))

PROTOCOL_MAJOR, PROTOCOL_MINOR = 1, 1

PAGE_BYTES = 4096
MAX_FRAME_BYTES = 72 << 20
MAX_SENT_BYTES = 64 << 20  # of one request or mail
MAX_REQUESTS = 64  # of one call, open at a time
MAX_TIMERS = 1024  # of one call
MAX_HEADERS, MAX_BODY_SECRETS, MAX_RECIPIENTS, MAX_PARTS, MAX_LOG_FIELDS, MAX_PROBLEMS = 256, 16, 1000, 64, 32, 1000
MAX_WORDS_BYTES = 4096  # of a text for people; the host cuts it shorter
MAX_NAME_BYTES = 64 << 10  # of a relay or an address
MAX_RESULT_BYTES = (1 << 20) + 1  # of a result or an artifact: one more than the host takes, so that it sees it
MAX_ERROR_CHARACTERS = 500  # of what an exception says, in a detail
CANCEL_GRACE = 0.5  # from a cancel to the end of its call

EXIT_HOST_IS_GONE = 0  # nothing is wrong with the plugin
EXIT_STARTED_BY_HAND = 2
EXIT_MALFORMED = 70  # EX_SOFTWARE: what the host said cannot be read


# ---- words and their numbers ----

VERDICTS = {"accepted": 1, "rejected": 2, "transient": 3, "deferred": 4}
REACHES = {"not_sent": 1, "maybe_sent": 2, "answered": 3}
SCOPES = {"this_job": 1, "whole_target": 2}
ERRORS = {None: 0, "refused": 1, "resolve": 2, "connect": 3, "tls": 4, "timeout": 5, "broken": 6, "cancelled": 7}
STAGES = {"none": 0, "connect": 1, "auth": 2, "mail": 3, "rcpt": 4, "data": 5}
TLS = {"if_offered": 0, "required": 1, "never": 2}
SECRET_FORMS = {"raw": 0, "json": 1, "form": 2}
ALGORITHMS = {"rsa_sha256": 1, "ecdsa_p256_sha256": 2}
LEVELS = {"debug": 1, "info": 2, "warn": 3, "warning": 3, "error": 4}
ROLES = ("sender", "compose", "status", "probe", "failures")  # in the order of the numbers in `begin`
ABILITIES = {"compose": 1, "status": 2, "probe": 4, "failures": 8}

_REACH_WORDS, _ERROR_WORDS, _STAGE_WORDS = ({number: word for word, number in table.items()}
                                            for table in (REACHES, ERRORS, STAGES))


def number_of(table, word, what):
    if word not in table:
        raise ValueError(f"{word!r} is no {what}: say one of {', '.join(map(repr, table))}")
    return table[word]


class Cancelled(Exception):
    """The host wants the call to end: host.sleep() raises it. A call that lets it out is completed as transient, "cancelled"."""


class Ended(RuntimeError):
    """The call is over: nothing can be asked for it any more."""


class HostError(LookupError):
    """The host says no to a question. `word` says why: "unknown", "wrong_key", "not_allowed", "malformed", "unavailable",
    "invalid", "no_answer"."""

    def __init__(self, word, message):
        super().__init__(message)
        self.word = word


# ---- bytes: numbers in little-endian order, texts and lists with their length in front ----

class Malformed(Exception):
    """What the host said cannot be read."""


class Kind:
    """The numbers of the messages."""
    WELCOME, CHECK, CREATE, BEGIN, CANCEL, END, RESPONSE, REPLY, FIRE, DESTROY, SETTLE, PING = range(1, 13)
    (SANDBOXED, HELLO, CHECKED, CREATED, COMPLETE, FETCH, ABORT_FETCH, SUBMIT, ABORT_SUBMISSION, TIMER, CANCEL_TIMER, FAILURE,
     NEXT_PAGE, LOG, COUNT, FAULT, SETTLED, PONG) = range(100, 118)
    SIGN, SIGNATURE, SECRET, RENDER, RENDER_TEXT, LINK, FIND_CLIENT, FORGET_TOKEN, COUNT_FIRST = range(201, 210)
    ANSWER = 250


I32, U32, I64, U64 = (struct.Struct(layout) for layout in ("<i", "<I", "<q", "<Q"))
HEAD = struct.Struct("<II")  # length without its own four bytes, kind
TWO_U32 = struct.Struct("<II")
CALL_AND_ID = struct.Struct("<QQ")
BEGIN = struct.Struct("<QIIIq")  # call, what, attempt, maybe sent before, deadline in ms
RESPONSE = struct.Struct("<QiiiIq")  # id, error, reach, status, truncated, retry after in ms
REPLY = struct.Struct("<Qiiii")  # id, error, reach, stage, code
COMPLETE = struct.Struct("<QIiiiiq")  # call, 1, verdict, reach, scope, code, retry after in ms
JOB_TEXTS = ("action_id", "target", "idempotency_key", "destination", "payload", "context", "artifact_type", "artifact",
             "provider_ref", "progress")


def frame(kind, *fields):
    """A whole frame; `fields` are bytes."""
    return b"".join((HEAD.pack(4 + sum(map(len, fields)), kind), *fields))


def as_bytes(value):
    """bytes as they are, a str in UTF-8."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"text or bytes are wanted, not {type(value).__name__}")


def words(value, most=MAX_WORDS_BYTES):
    """What is said for people, in UTF-8 and bounded."""
    encoded = str(value).encode("utf-8", "replace")
    return encoded if len(encoded) <= most else encoded[:most].decode("utf-8", "ignore").encode()


def text(value):
    value = as_bytes(value)
    return U32.pack(len(value)) + value


def text_list(values):
    return b"".join((U32.pack(len(values)), *map(text, values)))


def pair_list(pairs):
    """A list of two texts each: headers, problems, the fields of a log event."""
    return b"".join((U32.pack(len(pairs)), *(text(one) for pair in pairs for one in pair)))


def read_texts(body, at, count):
    """`count` texts from the byte `at` on, as bytes, and where they end."""
    texts = []
    for _ in range(count):
        start = at + 4
        at = start + U32.unpack_from(body, at)[0]
        if at > len(body):
            raise Malformed("a text is longer than its message")
        texts.append(body[start:at])
    return texts, at


def read_count(body, at, least):
    """The number of items of a list, each of which has at least `least` bytes, and where the first begins."""
    count = U32.unpack_from(body, at)[0]
    if count * least > len(body) - at - 4:
        raise Malformed("a list is longer than its message")
    return count, at + 4


class Frames:
    """Cuts a stream of bytes into frames."""

    def __init__(self):
        self._left = bytearray()
        self._wanted = 0  # bytes until something can be cut off `_left`

    def cut(self, data):
        """What became whole with `data`: a list of (kind, body)."""
        if self._left:
            self._left += data
            if len(self._left) < self._wanted:
                return []
            data, self._left = memoryview(self._left), bytearray()
        frames, at, end = [], 0, len(data)
        while end - at >= U32.size:
            (size,) = U32.unpack_from(data, at)
            if not U32.size <= size <= MAX_FRAME_BYTES:
                raise Malformed(f"a frame of {size} bytes")
            if end - at < U32.size + size:
                break
            (kind,) = U32.unpack_from(data, at + U32.size)
            frames.append((kind, bytes(data[at + HEAD.size:at + U32.size + size])))
            at += U32.size + size
        if at < end:
            self._left += data[at:]
            self._wanted = U32.size if end - at < U32.size else U32.size + size
        return frames


# ---- JSON ----

def _no_constant(word):
    raise ValueError(f"{word} is not JSON")


_read_json = json.JSONDecoder(parse_constant=_no_constant).decode


def read_json(data):
    """What JSON text in UTF-8 says. ValueError: it is none."""
    return _read_json(data.decode())


def write_json(value):
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


# ---- outcomes ----

class Outcome:
    """What became of one attempt. accepted(), rejected(), transient(), deferred() and judge() make it; accepted() says what its
    attributes mean."""
    __slots__ = ("verdict", "reason", "reach", "scope", "code", "retry_after", "detail", "provider_ref", "result", "artifact",
                 "artifact_type")

    def __init__(self, verdict, reason, reach, answer, given):
        if not isinstance(reason, str):
            raise TypeError(f"a reason is a word and comes first, not {type(reason).__name__}")
        self.verdict = verdict
        self.reason = reason
        self.reach = reach if answer is None else answer.reach
        self.scope = "this_job"
        self.code = 0 if answer is None else answer.code
        self.retry_after = answer.retry_after if answer is not None and verdict == "transient" else None
        self.detail = self.provider_ref = self.artifact_type = ""
        self.result = None
        self.artifact = b""
        if given:
            self._take(given)

    def _take(self, given):
        for name, value in given.items():
            if name not in Outcome.__slots__[2:]:
                raise TypeError(f"an outcome has no {name!r}; it has {', '.join(Outcome.__slots__[2:])}")
            setattr(self, name, value)
        number_of(REACHES, self.reach, "reach")
        number_of(SCOPES, self.scope, "scope")

    def fields(self, call):
        """Those of the message `complete`."""
        detail = str(self.detail)
        if not detail.isprintable():
            detail = one_line(detail)
        retry_after = -1 if self.retry_after is None else milliseconds(self.retry_after)
        return (COMPLETE.pack(call, 1, VERDICTS[self.verdict], REACHES[self.reach], SCOPES[self.scope], self.code, retry_after),
                text(words(self.reason)), text(words(detail)), text(words(self.provider_ref)),
                text(b"" if self.result is None else write_json(self.result)[:MAX_RESULT_BYTES]),
                text(words(self.artifact_type)), text(as_bytes(self.artifact)[:MAX_RESULT_BYTES]))

    def __repr__(self):
        said = [self.reason and repr(self.reason), self.reach, self.scope == "whole_target" and "whole target",
                self.code and f"code {self.code}", self.detail and repr(self.detail)]
        return f"{self.verdict}({', '.join(word for word in said if word)})"


def accepted(answer=None, /, **more):
    """The destination took responsibility. With the answer, its reach and code are the outcome's.

    `more`, for all four kinds of outcome:
      reach          "not_sent" (no byte left), "maybe_sent" or "answered"
      scope          "this_job", or "whole_target": no other delivery would fare better, so the target cools down
      code           the protocol's own status
      retry_after    the destination's least wait before a retry, in seconds
      detail         one line for people, never a secret; the host cuts it at 1,000 bytes
      provider_ref   the destination's id of what it accepted
      result         any JSON value, recorded; of a transient outcome it is job.progress of the next attempt
      artifact, artifact_type   bytes and their media type: of an accepted compose only
    """
    return Outcome("accepted", "", "answered", answer, more)


def rejected(reason, answer=None, /, **more):
    """The destination refused. `reason` is one that plugin.json lists for the action."""
    return Outcome("rejected", reason, "answered", answer, more)


def transient(reason, answer=None, /, **more):
    """No usable answer: it may be tried again. `reason` is one word of yours. Of an answer it takes retry_after as well."""
    return Outcome("transient", reason, "maybe_sent", answer, more)


def deferred(reason, answer=None, /, **more):
    """Nothing to do, by the operator's choice, such as no credentials. Of a status: still under way."""
    return Outcome("deferred", reason, "not_sent", answer, more)


def judge(answer, permanent_reason):
    """The outcome of an answer, as most destinations mean it.

    HTTP: 2xx accepted; 401, 403, 429, 502, 503, 504 transient for the whole target; 408, 425, other 5xx and redirects transient;
    other 4xx rejected with `permanent_reason`. Without an answer: transient, and without a connection for the whole target.

    Mail: accepted when every recipient was; rejected when the relay refuses one for good; transient otherwise. If only some have
    the mail, `result` lists them under "accepted": leave out those in job.progress the next time.
    """
    return _judge_reply(answer, permanent_reason) if isinstance(answer, Reply) else _judge_response(answer, permanent_reason)


_ERROR_REASONS = {"resolve": "resolve_failed", "connect": "connect_failed", "tls": "tls_failed", "timeout": "timeout",
                  "refused": "refused_by_host", "cancelled": "cancelled", "broken": "connection_broken"}


def _judge_error(answer):
    out_of_reach = answer.reach == "not_sent" and answer.error not in ("refused", "cancelled")
    return transient(_ERROR_REASONS[answer.error], answer, scope="whole_target" if out_of_reach else "this_job",
                     detail=answer.error_text)


def _judge_response(answer, permanent_reason):
    if answer.error is not None:
        return _judge_error(answer)
    status = answer.status
    if status // 100 == 2:
        return accepted(answer)
    scope = "whole_target" if status in (401, 403, 429, 502, 503, 504) else "this_job"
    told = {"scope": scope, "retry_after": answer.retry_after, "detail": f"status {status}"}
    if status in (401, 403):
        return transient("unauthorized", answer, **told)
    if status in (408, 425, 429):
        return transient("try_later", answer, **told)
    if status // 100 == 4:
        return rejected(permanent_reason, answer, **told)
    return transient("server_error" if status // 100 == 5 else "invalid_answer", answer, **told)


def _judge_reply(reply, permanent_reason):
    offers_no_login = reply.stage == "auth" and reply.error == "broken" and reply.code == 0
    if reply.error is not None and not offers_no_login:
        return _judge_error(reply)
    for_good = reply.code // 100 == 5
    told = {"detail": f"{reply.code} {reply.text}" if reply.code else reply.error_text}
    if reply.stage in ("connect", "auth") or reply.code == 530:  # 530: log in first
        of_login = reply.stage != "connect" and (for_good or offers_no_login)
        reason = "relay_login_refused" if of_login else "relay_refused" if for_good else "try_later"
        return transient(reason, reply, scope="whole_target", **told)
    if reply.stage == "rcpt" or reply.is_taken:
        return _judge_recipients(reply, permanent_reason)
    return rejected(permanent_reason, reply, **told) if for_good else transient("try_later", reply, **told)


def _judge_recipients(reply, permanent_reason):
    have_it = [one.address for one in reply.recipients if reply.is_taken and one.code // 100 == 2]
    refused = [one for one in reply.recipients if one.code // 100 != 2 and one.code != 0]
    if reply.is_taken and not refused:
        return accepted(reply)
    later = [one for one in refused if one.code // 100 != 5]
    about = (later or refused or [Recipient("", reply.code, reply.text)])[-1]
    told = {"code": about.code, "detail": f"{about.address}: {about.code} {about.text}"}
    if have_it:
        told["result"] = {"accepted": have_it, "refused": [one._asdict() for one in refused]}
    if later or not refused:
        return transient("some_recipients_later" if have_it else "try_later", reply, **told)
    return rejected(permanent_reason, reply, **told)


def milliseconds(seconds):
    return max(0, math.ceil(seconds * 1000))


def one_line(words_of_any_length):
    return " ".join("".join(c if c.isprintable() else " " for c in words_of_any_length).split())


# ---- what comes from the host ----

class Answer:
    """The answer to a request.

      error         None, or how the network failed: "refused" (not tried), "resolve", "connect", "tls", "timeout", "broken",
                    "cancelled"
      error_text    one line for people
      reach         "not_sent", "maybe_sent" or "answered", as the host saw it
      status        the HTTP status, 0 without one; `code` is the same
      headers       a dict, with names in lower case; of several of one name the first. header_list has all of them, as pairs
      body          bytes, up to max_response_bytes; is_truncated: there was more
      retry_after   seconds, or None
    """
    __slots__ = ("error", "error_text", "reach", "status", "header_list", "body", "is_truncated", "retry_after")

    def __init__(self, body):
        _, error, reach, self.status, truncated, retry_after = RESPONSE.unpack_from(body)
        self.error = _ERROR_WORDS.get(error, "broken")
        self.reach = _REACH_WORDS.get(reach, "maybe_sent")
        self.is_truncated = truncated != 0
        self.retry_after = None if retry_after < 0 else retry_after / 1000
        (self.body, error_text), at = read_texts(body, RESPONSE.size, 2)
        self.error_text = error_text.decode("utf-8", "replace")
        count, at = read_count(body, at, 8)
        texts, _ = read_texts(body, at, 2 * count)
        texts = [one.decode("utf-8", "replace") for one in texts]
        self.header_list = list(zip(texts[::2], texts[1::2]))

    @property
    def code(self):
        return self.status

    @property
    def headers(self):
        return dict(reversed(self.header_list))

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    def json(self):
        """What the body says. ValueError: it is no JSON."""
        return read_json(self.body)

    def __repr__(self):
        return f"<answer {self.error or self.status}, {self.reach}>"


Recipient = collections.namedtuple("Recipient", "address code text")  # code 0: not asked


class Reply:
    """A relay's reply to a mail.

      error, error_text, reach   as of an Answer
      stage         what the deciding reply answered: "none", "connect", "auth", "mail", "rcpt" or "data"
      code, text    that reply's
      recipients    a list of (address, code, text), in the order of the mail's; code 0: not asked
      is_taken      the relay took the mail, for the recipients with a code of 2xx
    """
    __slots__ = ("error", "error_text", "reach", "stage", "code", "text", "recipients")
    retry_after = None

    def __init__(self, body, addresses):
        _, error, reach, stage, self.code = REPLY.unpack_from(body)
        self.error = _ERROR_WORDS.get(error, "broken")
        self.reach = _REACH_WORDS.get(reach, "maybe_sent")
        self.stage = _STAGE_WORDS.get(stage, "none")
        said, at = read_texts(body, REPLY.size, 2)
        self.text, self.error_text = (one.decode("utf-8", "replace") for one in said)
        count, at = read_count(body, at, 8)
        self.recipients = []
        for address in itertools.chain(addresses, itertools.repeat("")) if count else ():
            if len(self.recipients) == count:
                break
            (code,) = I32.unpack_from(body, at)
            (said,), at = read_texts(body, at + 4, 1)
            self.recipients.append(Recipient(address, code, said.decode("utf-8", "replace")))

    @property
    def is_taken(self):
        return self.error is None and self.stage == "data" and self.code // 100 == 2

    def __repr__(self):
        return f"<reply {self.error or self.code} at {self.stage}, {self.reach}>"


class _Read:
    """An attribute that is made of a text of the host when it is first touched, and then kept."""

    def __init__(self, name, read):
        self._index = JOB_TEXTS.index(name)
        self._read = read

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, job, owner=None):
        if job is None:
            return self
        value = job.__dict__[self._name] = self._read(job._texts[self._index])
        return value


def _text_of(data):
    return data.decode("utf-8", "replace")


def _object_of(data):
    return read_json(data) if data else {}


def _value_of(data):
    return read_json(data) if data else None


class Job:
    """What to send.

      destination         a dict: {"url": ..., further fields of the target}
      payload             the client's JSON; None if there was none. ValueError: it is no JSON. payload_bytes has it unread
      context             a dict: {"org", "kind", "reference"}, and more for other submissions than intents
      idempotency_key     the same in every attempt of the delivery
      attempt             1 for the first
      maybe_sent_before   an earlier attempt may have reached the destination
      deadline            how long this attempt may take, in seconds from its begin
      target, action_id   the target's name, and the delivery's id for logs
      artifact, artifact_type   bytes that compose made, and their media type
      provider_ref        for status: that of the accepted attempt
      progress            `result` of the latest transient outcome of this delivery, or None
      since, page         for failures: from when on, in seconds since 1970; and the page, "" for the first
    """
    destination = _Read("destination", _object_of)
    payload = _Read("payload", _value_of)
    payload_bytes = _Read("payload", bytes)
    context = _Read("context", _object_of)
    idempotency_key = _Read("idempotency_key", _text_of)
    target = _Read("target", _text_of)
    action_id = _Read("action_id", _text_of)
    artifact = _Read("artifact", bytes)
    artifact_type = _Read("artifact_type", _text_of)
    provider_ref = _Read("provider_ref", _text_of)
    progress = _Read("progress", _value_of)

    def __init__(self, attempt, maybe_sent_before, deadline_ms, texts, since, page):
        self.attempt = attempt
        self.maybe_sent_before = maybe_sent_before != 0
        self.deadline = deadline_ms / 1000
        self._texts = texts
        self.since = since
        self.page = _text_of(page)


class Failure:
    """What the destination accepted and then failed to deliver. `failed_at`: seconds since 1970, 0 if unknown."""

    def __init__(self, *, provider_ref="", idempotency_key="", reason="", detail="", failed_at=0):
        self._fields = (I64.pack(int(failed_at)), *(text(words(one)) for one in (provider_ref, idempotency_key, reason, detail)))


class NextPage:
    """The name of the next page of failures: job.page of the next call."""

    def __init__(self, name):
        self.name = name


class Secret:
    """A secret of the host, by its name, in a list of pieces of a body: body=['{"key":"', Secret("desk", "json"), '"}'].
    `form`: "raw", "json" (escaped for a JSON string) or "form" (percent-encoded)."""

    def __init__(self, name, form="raw"):
        self.name = name
        self.form = number_of(SECRET_FORMS, form, "form of a secret")


# ---- what goes to the host ----

def _request_fields(method, url, headers, body, json_value, timeout, max_response_bytes, names):
    headers = list(headers.items() if hasattr(headers, "items") else headers)
    if json_value is not None:
        body = write_json(json_value)
        if not any(str(name).lower() == "content-type" for name, _ in headers):
            headers.append(("Content-Type", "application/json"))
    body, secrets = _body_and_secrets(body)
    if len(headers) > MAX_HEADERS:
        raise ValueError(f"a request has {MAX_HEADERS} headers at most, not {len(headers)}")
    fields = (TWO_U32.pack(min(milliseconds(timeout or 0), 0xFFFFFFFF), max_response_bytes), text(method), text(url), text(body),
              *map(text, names), pair_list(headers),
              U32.pack(len(secrets)), *(U64.pack(at) + text(one.name) + I32.pack(one.form) for at, one in secrets))
    if sum(map(len, fields)) > MAX_SENT_BYTES:
        raise ValueError("a request has 64 MiB at most")
    return fields


def _body_and_secrets(body):
    """The bytes of a body, and its secrets as (the byte in front of which each goes, Secret)."""
    if not isinstance(body, (list, tuple)):
        return as_bytes(body), ()
    pieces, secrets, length = [], [], 0
    for piece in body:
        if isinstance(piece, Secret):
            secrets.append((length, piece))
        else:
            pieces.append(as_bytes(piece))
            length += len(pieces[-1])
    if len(secrets) > MAX_BODY_SECRETS:
        raise ValueError(f"a body has {MAX_BODY_SECRETS} secrets at most, not {len(secrets)}")
    return b"".join(pieces), secrets


def _mail_fields(relay, mail_from, recipients, data, tls, user, password, timeout):
    if hasattr(data, "as_bytes"):
        data = data.as_bytes(policy=data.policy.clone(linesep="\r\n"))
    data = as_bytes(data)
    if len(recipients) > MAX_RECIPIENTS:
        raise ValueError(f"a mail has {MAX_RECIPIENTS} recipients at most, not {len(recipients)}")
    if len(data) > MAX_SENT_BYTES or any(len(one) > MAX_NAME_BYTES for one in (relay, mail_from, user, password, *recipients)):
        raise ValueError("a mail has 64 MiB at most, and an address or a relay 64 KiB")
    return (U32.pack(0), U32.pack(min(milliseconds(timeout or 0), 0xFFFFFFFF)), I32.pack(number_of(TLS, tls, "way of TLS")),
            text(relay), text(user), text(password), text(mail_from), text(data), text_list(recipients))


_REFUSALS = {
    Kind.SIGN: {1: ("unknown", "the host has no secret {!r}")},
    Kind.SIGNATURE: {1: ("unknown", "the host has no secret {!r}"),
                     2: ("wrong_key", "the secret {!r} is no private key of this algorithm")},
    Kind.SECRET: {1: ("unknown", "the host has no secret {!r}"),
                  2: ("not_allowed", "the secret {!r} is not listed under `secrets` in the sender's settings")},
    Kind.RENDER: {1: ("unknown", "the registry has no template {!r}"),
                  2: ("malformed", "the template {!r} or its data is malformed")},
    Kind.RENDER_TEXT: {2: ("malformed", "the template {!r} or its data is malformed")},
    Kind.LINK: {1: ("unavailable", "the host has no key to sign links with"),
                2: ("invalid", "{!r} is no object that can be linked, or not for so long")},
}


class Host:
    """What the host does for one call. Await fetch(), submit() and sleep(); the rest answers at once, from any thread. In a
    blocking sender, a plain def, those three are called without await and wait themselves."""

    def __init__(self, guest, call):
        self._guest = guest
        self._call = call

    @property
    def settings(self):
        """The operator's settings of the action type, a dict."""
        return self._guest.settings

    @property
    def is_cancelled(self):
        """The host wants the call to end soon."""
        return self._call.is_cancelled

    async def fetch(self, method, url, *, headers=(), body=b"", json=None, timeout=None, max_response_bytes=0, basic_user="",
                    basic_password="", sigv4_region="", sigv4_service="", sigv4_key_id="", sigv4_secret_key=""):
        """Sends an HTTP request and returns its Answer; whatever the network does, it raises nothing.

        `headers`: a dict or pairs. In their values, and in the URL's path and query, the host replaces {secret:NAME} and
        {oauth2:NAME} (headers only), which needs https. `body`: bytes, text, or a list of these and Secret(...). `json`: any value,
        in place of a body. `timeout`: seconds; None: until the call's deadline. `max_response_bytes`: 0: 4,096. `basic_*`,
        `sigv4_key_id` and `sigv4_secret_key` are NAMES of secrets. No redirect is followed.
        """
        names = (basic_user, basic_password, sigv4_region, sigv4_service, sigv4_key_id, sigv4_secret_key)
        fields = _request_fields(method, url, headers, body, json, timeout, max_response_bytes, names)
        return await self._call.request(Kind.FETCH, Kind.ABORT_FETCH, fields, Answer)

    async def submit(self, relay, mail_from, recipients, data, *, tls="if_offered", user="", password="", timeout=None):
        """Hands a mail to a relay ("smtp://host:port" or "smtps://host:port") and returns its Reply.

        `data`: a message with CRLF line ends, or one of the package `email`. `tls`: "if_offered", "required" or "never". `user`: a
        login; with it `password` is the NAME of a secret. Address everybody in `recipients`, a list of "a@b".
        """
        recipients = list(recipients)
        fields = _mail_fields(relay, mail_from, recipients, data, tls, user, password, timeout)
        return await self._call.request(Kind.SUBMIT, Kind.ABORT_SUBMISSION, fields, lambda body: Reply(body, recipients))

    async def sleep(self, seconds):
        """Waits on the host's clock, which tests can set. Raises Cancelled when the host cancels the call."""
        await self._call.sleep(seconds)

    def unix_seconds(self):
        """Seconds since 1970, on a clock that tests can set."""
        return self._guest.unix_seconds()

    def sign(self, secret, *parts):
        """HMAC-SHA256 of the parts, with each value that the secret has now: a list of 32 bytes each, the newest first."""
        return self._ask(Kind.SIGN, secret, self._number(), text(words(secret)), self._parts(parts))

    def signature(self, algorithm, secret, *parts):
        """The signature of the parts by the private key of this name. `algorithm`: "rsa_sha256" or "ecdsa_p256_sha256"."""
        number = I32.pack(number_of(ALGORITHMS, algorithm, "algorithm"))
        return self._ask(Kind.SIGNATURE, secret, self._number(), number, text(words(secret)), self._parts(parts))[0]

    def secret(self, name):
        """The values of a secret that the operator lists for this action type, the newest first. Keep no copy and log none."""
        return [_text_of(one) for one in self._ask(Kind.SECRET, name, self._number(), text(words(name)))]

    def render(self, template, data):
        """The parts of a template of the registry: a dict with "subject", "text", "html", as far as it has them."""
        said = [_text_of(one) for one in self._ask(Kind.RENDER, template, text(template), text(write_json(data)))]
        return dict(zip(said[::2], said[1::2]))

    def render_text(self, template, data):
        """A mustache template of the plugin's own, rendered."""
        return _text_of(self._ask(Kind.RENDER_TEXT, template, text(template), text(write_json(data)))[1])

    def link(self, target, seconds):
        """A URL that gives access to a stored object ("gs://bucket/key") for so long, seven days at most."""
        return _text_of(self._ask(Kind.LINK, target, text(target), I64.pack(int(seconds)))[0])

    def has_oauth2_client(self, client):
        """Whether the operator configured an OAuth2 client of this name, for {oauth2:NAME} in a header."""
        return self._guest.ask(Kind.FIND_CLIENT, text(words(client)))[0] == 0

    def forget_oauth2_token(self, client):
        """The client's token is not used again: a destination refused it without a 401."""
        self._guest.ask(Kind.FORGET_TOKEN, text(words(client)))

    def log(self, message, level="info", **fields):
        """Writes one log event. `level`: "debug", "info", "warn" or "error". Never a secret in here."""
        number = number_of(LEVELS, level, "level")
        pairs = [(words(name), words(value)) for name, value in itertools.islice(fields.items(), MAX_LOG_FIELDS)]
        if not self._call.is_over:
            self._guest.put(frame(Kind.LOG, U64.pack(self._call.number), I32.pack(number), text(words(message)), pair_list(pairs)))

    def count(self, name, by=1):
        """Adds to a counter of this action type in the host's metrics. False: the name is not [a-z][a-z0-9_]*, or there are 64
        others."""
        return self._guest.count(words(name), by)

    def report(self, failure):
        """Lists one Failure; in a function for failures that is no generator."""
        self._call.report(failure)

    def next_page(self, name):
        """Names the next page of failures; in a function for failures that is no generator."""
        self._call.report(NextPage(name))

    def _number(self):
        return U64.pack(0 if self._call.is_over else self._call.number)

    @staticmethod
    def _parts(parts):
        if len(parts) > MAX_PARTS:
            raise ValueError(f"{MAX_PARTS} parts at most are signed, not {len(parts)}")
        return text_list(parts)

    def _ask(self, kind, about, *fields):
        status, values = self._guest.ask(kind, *fields)
        if status == 0:
            return values
        word, message = _REFUSALS[kind].get(status, ("no_answer", "the host cannot answer about {!r}"))
        raise HostError(word, message.format(about))


class BlockingHost(Host):
    """The host of a plain def, which has a thread of its own and may wait."""

    def fetch(self, *arguments, **more):
        return self._call.wait(super().fetch(*arguments, **more))

    def submit(self, *arguments, **more):
        return self._call.wait(super().submit(*arguments, **more))

    def sleep(self, seconds):
        return self._call.wait(super().sleep(seconds))


# ---- calls ----

class Stepped(collections.abc.Coroutine):
    """A coroutine of a call, around each of whose steps the page says whose code runs."""
    __slots__ = ("_coroutine", "_call", "_guest")

    def __init__(self, coroutine, call):
        self._coroutine = coroutine
        self._call = call
        self._guest = call.guest

    def send(self, value):
        return self._step(self._coroutine.send, value)

    def throw(self, *error):
        return self._step(self._coroutine.throw, *error)

    def _step(self, step, *given):
        guest = self._guest
        guest.current = self._call
        guest.page.enter(self._call.number)
        try:
            return step(*given)
        finally:
            guest.page.leave()
            guest.current = None

    def close(self):
        self._coroutine.close()

    def __await__(self):
        return self._coroutine.__await__()


class Call:
    """One call of the host's: its function, its task and what it has asked for. It belongs to the loop's thread, but for what
    says otherwise."""

    def __init__(self, guest, number, role, function, job):
        self.guest = guest
        self.number = number
        self.is_cancelled = False
        self.is_over = False  # nothing more is said for it
        self.children = set()  # tasks that its code made, or its thread waits for
        self._role = role
        self._function = function
        self._job = job
        self._is_taken_up = False
        self._has_asked = False  # the host was handed a request
        self._requests = {}  # the kind that aborts it, by id
        self._timers = set()
        self._grace = 0  # the timer that ends it after a cancel
        self._task = None
        self._work = None  # what its thread does

    def begin(self):
        blocks = self._function is not None and not is_async(self._function)
        run = self._run(self._run_in_thread if blocks else self._run_here)
        self._task = asyncio.Task(run if blocks else Stepped(run, self), loop=self.guest.loop)

    async def _run(self, attempt):
        try:
            fields = self._checked(await attempt()).fields(self.number)
        except asyncio.CancelledError:
            if self.is_over:
                return
            fields = self._failed("its task was cancelled").fields(self.number)
        except Cancelled:
            fields = transient("cancelled", reach=self._reach()).fields(self.number)
        except (Exception, SystemExit) as error:
            tell(error)
            fields = self._failed(words_of(error)).fields(self.number)
        self._complete(fields)

    async def _run_here(self):
        self.take_up()
        if self._function is None:
            raise LookupError(f"the plugin has no function for {self._role}")
        said = self._function(self._job, Host(self.guest, self))
        if not inspect.isasyncgen(said):
            return await said
        async with contextlib.aclosing(said):
            async for item in said:
                if isinstance(item, Outcome):
                    return item
                self.report(item)
        return accepted()

    async def _run_in_thread(self):
        self._work, said = self.guest.loop.work(self.guest.thread, self._block)
        return await said

    def _block(self):
        """[its own thread]"""
        self.take_up()
        self.guest.page.enter(self.number)
        try:
            said = self._function(self._job, BlockingHost(self.guest, self))
            if not inspect.isgenerator(said):
                return said
            for item in said:
                if isinstance(item, Outcome):
                    return item
                self.report(item)
            return accepted()
        except StopIteration as error:  # no future takes it
            raise RuntimeError("it raised StopIteration") from error
        finally:
            self.guest.page.leave()

    def wait(self, coroutine):
        """[its own thread] What the coroutine returns, which runs on the loop. Meanwhile no code of the plugin runs."""
        self.guest.page.leave()
        try:
            return asyncio.run_coroutine_threadsafe(self._rest_for(coroutine), self.guest.loop).result()
        except concurrent.futures.CancelledError:
            raise Ended("the call is over") from None
        finally:
            self.guest.page.enter(self.number)

    async def _rest_for(self, coroutine):
        self.children.add(asyncio.current_task())
        self.guest.loop.busy.discard(self._work)
        try:
            return await coroutine
        finally:
            self.guest.loop.busy.add(self._work)
            self.children.discard(asyncio.current_task())

    def take_up(self):
        """[any thread] The host sees that its code may have run."""
        if not self._is_taken_up:
            self._is_taken_up = True
            self.guest.page.take_up()

    def _checked(self, said):
        if isinstance(said, Outcome):
            return said
        return self._failed(f"the {self._role} function returned {type(said).__name__} in place of an outcome: return "
                            "waybill.accepted(), rejected(), transient(), deferred() or judge()")

    def _failed(self, detail):
        return transient("plugin_error", reach=self._reach(), detail=detail)

    def _reach(self):
        return "maybe_sent" if self._has_asked or self.guest.sends_itself() else "not_sent"

    def _complete(self, fields):
        if self.is_over:
            return
        self.guest.put(frame(Kind.COMPLETE, *fields))
        self._forget()

    def _forget(self):
        self.is_over = True
        self.guest.forget(self.number, (*self._requests, *self._timers, self._grace))
        self._task = None
        for child in tuple(self.children):
            child.cancel()

    def cancel(self):
        """The host wants it to end: what it waits for ends, and CANCEL_GRACE later so does its task."""
        if self.is_cancelled:
            return
        self.is_cancelled = True
        for number, abort in self._requests.items():
            self.guest.put(frame(abort, U64.pack(number)))
        for number in tuple(self._timers):
            self.guest.put(frame(Kind.CANCEL_TIMER, U64.pack(number)))
            self.guest.settle_waiting(number, Cancelled("the host cancelled the call"))
        if self._function is not None and is_async(self._function):  # a thread cannot be ended: the host sees where it is
            self._grace = self.guest.next_id()
            self.guest.waiting[self._grace] = lambda _: self._lose_patience()
            self._put_timer(self._grace, CANCEL_GRACE)

    def _lose_patience(self):
        task = self._task
        outcome = transient("cancelled", reach=self._reach(), detail="its code went on after the cancel")
        self._complete(outcome.fields(self.number))
        task.cancel()

    def end(self):
        """The call is over for the host."""
        self.take_up()
        task = self._task
        self._forget()
        task.cancel()

    def report(self, item):
        """[any thread] Lists a Failure or names a NextPage."""
        number = U64.pack(self.number)
        if isinstance(item, Failure):
            message = frame(Kind.FAILURE, number, *item._fields)
        elif isinstance(item, NextPage):
            message = frame(Kind.NEXT_PAGE, number, text(words(item.name)))
        else:
            raise TypeError(f"the failures function gave {type(item).__name__}: yield Failure, NextPage or an outcome")
        if self.is_over:
            raise Ended("the call is over")
        self.guest.put(message)

    async def request(self, kind, abort, fields, read):
        """Asks for a fetch or a submission, and returns `read` of what the host says."""
        await self._check_open()
        if self.is_cancelled:
            await asyncio.sleep(0)
            return read(_cancelled_answer(kind))
        if len(self._requests) >= MAX_REQUESTS:
            raise RuntimeError(f"a call has {MAX_REQUESTS} open requests at most: wait for some of them")
        number, guest = self.guest.next_id(), self.guest
        future = guest.loop.create_future()
        self._requests[number] = abort
        self._has_asked = True

        def take(body):
            self._requests.pop(number, None)
            if not future.done():
                future.set_result(read(body))

        guest.waiting[number] = take
        guest.put(frame(kind, CALL_AND_ID.pack(self.number, number), *fields))
        try:
            return await future
        except asyncio.CancelledError:
            if number in self._requests and not self.is_over:
                guest.put(frame(abort, U64.pack(number)))
            raise

    async def sleep(self, seconds):
        await self._check_open()
        if self.is_cancelled:
            await asyncio.sleep(0)
            raise Cancelled("the host cancelled the call")
        if len(self._timers) >= MAX_TIMERS:
            raise RuntimeError(f"a call has {MAX_TIMERS} timers at most")
        number, guest = self.guest.next_id(), self.guest
        future = guest.loop.create_future()
        self._timers.add(number)

        def take(said):
            self._timers.discard(number)
            if future.done():
                return
            future.set_exception(said) if isinstance(said, Exception) else future.set_result(None)

        guest.waiting[number] = take
        self._put_timer(number, seconds)
        try:
            await future
        except asyncio.CancelledError:
            if number in self._timers and not self.is_over:
                guest.put(frame(Kind.CANCEL_TIMER, U64.pack(number)))
                guest.settle_waiting(number, None)
            raise

    def _put_timer(self, number, seconds):
        self.guest.put(frame(Kind.TIMER, CALL_AND_ID.pack(self.number, number), I64.pack(milliseconds(seconds))))

    async def _check_open(self):
        if self.is_over:
            await asyncio.sleep(0)  # so that code that tries for ever does not keep the others from running
            raise Ended("the call is over")


def _cancelled_answer(kind):
    """What the host would say to a request of a call that it cancelled."""
    why = text("the host cancelled the call")
    if kind == Kind.FETCH:
        return RESPONSE.pack(0, ERRORS["cancelled"], REACHES["not_sent"], 0, 0, -1) + text(b"") + why + U32.pack(0)
    return REPLY.pack(0, ERRORS["cancelled"], REACHES["not_sent"], STAGES["none"], 0) + text(b"") + why + U32.pack(0)


def words_of(error):
    """The type and text of an exception, in one line."""
    try:
        said = one_line(str(error))
    except Exception:  # a __str__ of the plugin's own
        said = ""
    name = type(error).__name__
    return f"{name}: {said}"[:MAX_ERROR_CHARACTERS] if said else name


def tell(what):
    """Writes a line, or an exception with its traceback, to the standard error, if that can be written to."""
    with contextlib.suppress(Exception):
        if isinstance(what, BaseException):
            traceback.print_exception(what)
        else:
            print(what, file=sys.stderr)


def is_async(function):
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


# ---- the plugin: its functions, and what plugin.json says of it ----

class Action:
    """What plugin.json says of one action type."""

    def __init__(self, described):
        self.type = described["type"]
        self.is_blocking = described.get("blocking") is True
        self.reasons = {one if isinstance(one, str) else one["name"] for one in described.get("reasons", ())}


def read_actions(path):
    """The actions of a plugin.json by their types. ValueError: what is wrong and, in a second line, what would help."""
    try:
        with open(path, "rb") as file:
            described = read_json(file.read())
        return {action.type: action for action in map(Action, described["actions"])}
    except OSError as error:
        raise ValueError(f"plugin.json cannot be read: {error.strerror}\nput it beside the program") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"plugin.json cannot be understood: {words_of(error)}\nwrite it as docs/plugins-python.md shows") from None


class Plugin:
    """The functions of a plugin, by action type and role."""

    def __init__(self):
        self.functions = {}

    def take(self, role, action_type):
        """A decorator that takes a function for a role of an action type."""
        def keep(function):
            if not callable(function):
                raise TypeError(f'@waybill.{role}("{action_type}") stands above no function')
            if (action_type, role) in self.functions:
                raise ValueError(f'there are two functions under @waybill.{role}("{action_type}")')
            self.functions[action_type, role] = function
            return function
        if not isinstance(action_type, str):
            raise TypeError(f'name the action type: @waybill.{role}("my_destination")')
        return keep

    def find(self, action_type, role):
        return self.functions.get((action_type, role))

    def fault(self, actions):
        """Why the functions do not fit plugin.json, and in a second line what would help. Empty: they do."""
        for action_type, role in self.functions:
            if action_type not in actions:
                return (f'@waybill.{role}("{action_type}") names no action type of plugin.json\n'
                        + _did_you_mean(action_type, actions))
        for action_type in actions:
            if not self.find(action_type, "sender"):
                return (f'plugin.json lists the action type "{action_type}", and no function sends it\n'
                        f'write one under @waybill.sender("{action_type}")')
        faults = (_fault_in_function(function, role, actions[action_type])
                  for (action_type, role), function in self.functions.items())
        return next(filter(None, faults), "")


def _did_you_mean(word, words_known):
    import difflib  # only here: it costs a start some milliseconds
    near = difflib.get_close_matches(word, words_known, 1)
    return f'did you mean "{near[0]}"?' if near else 'list it under "actions" there'


def _fault_in_function(function, role, action):
    name = f'{getattr(function, "__name__", "a function")}(), under @waybill.{role}("{action.type}"),'
    is_plain = not is_async(function)
    if role not in ROLES:
        return "" if is_plain else f"{name} is an async def, and a check asks nobody\nwrite def"
    if is_plain and not action.is_blocking:
        return (f"{name} is a plain def, and would hold up every other call\n"
                'write async def, or say "blocking": true for the action in plugin.json')
    if role != "failures" and (inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function)):
        return f"{name} yields\nreturn one outcome, such as waybill.accepted()"
    return ""


the_plugin = Plugin()  # of this process


def sender(action_type):
    """Above the function (job, host) that makes one attempt and returns its outcome."""
    return the_plugin.take("sender", action_type)


def compose(action_type):
    """Above the function (job, host) that makes, once and before the first attempt, what all attempts send. It sends nothing
    itself and returns accepted(artifact=..., artifact_type=...)."""
    return the_plugin.take("compose", action_type)


def status(action_type):
    """Above the function (job, host) that asks what became of job.provider_ref. accepted: it arrived; rejected: it failed for
    good; deferred: still under way; transient: it could not be asked."""
    return the_plugin.take("status", action_type)


def probe(action_type):
    """Above the function (job, host) that tells whether job.destination can be reached, without sending anything that counts."""
    return the_plugin.take("probe", action_type)


def failures(action_type):
    """Above the function (job, host) that lists one page, job.page, of what failed since job.since after it was accepted. An async
    generator yields Failure(...) and NextPage(...), and at the end an outcome if it is not accepted(). Any other function
    uses host.report() and host.next_page(), and returns an outcome."""
    return the_plugin.take("failures", action_type)


def check_settings(action_type):
    """Above a function of the settings, a dict, that yields each problem as (JSON pointer, message). It does no I/O and says the
    same each time. The host checks the schema of plugin.json before."""
    return the_plugin.take("check_settings", action_type)


def check_destination(action_type):
    """The same of a target's destination."""
    return the_plugin.take("check_destination", action_type)


def problems_of(check, data):
    """What a check says of JSON, as pairs of a JSON pointer and a message."""
    try:
        found = check(read_json(data))
        problems = []
        for path, message in itertools.islice(() if found is None else found, MAX_PROBLEMS):
            problems.append((words(path), words(message)))
        return problems
    except (Exception, SystemExit) as error:
        tell(error)
        return [("", f"the plugin failed while it checked this: {words_of(error)}")]


# ---- the process ----

class Page:
    """Three numbers that the host reads: the call whose code runs, since when (0: none runs), and how many begins were taken up.
    `numbers`: memory as unsigned 64-bit numbers."""

    def __init__(self, numbers):
        self._numbers = numbers

    def enter(self, call):
        self._numbers[0] = call
        self._numbers[1] = time.monotonic_ns()

    def leave(self):
        self._numbers[1] = 0

    def take_up(self):
        self._numbers[2] += 1


class Guest:
    """A plugin in the host's service: what the host says becomes calls of functions. It belongs to the loop's thread, but for
    what says otherwise.

    `put` sends a frame, from any thread. `ask` sends a question and returns (status, values), from any thread. `sends_itself`
    tells whether the plugin can have sent something without the host.
    """

    def __init__(self, plugin, actions, loop, put, ask, page, sends_itself, unix_seconds=time.time):
        self.loop = loop
        self.put = put
        self.ask = ask
        self.page = page
        self.sends_itself = sends_itself
        self.unix_seconds = unix_seconds
        self.settings = {}
        self.current = None  # the call whose step runs
        self.waiting = {}  # what takes what the host says of a request or a timer, by its id
        self.thread = None  # of blocking functions
        self._plugin = plugin
        self._actions = actions
        self._action = None
        self._calls = {}
        self._ids = itertools.count(1)
        self._settles = []
        self._counted = set()
        self._handlers = {Kind.WELCOME: self._greet, Kind.CHECK: self._check, Kind.CREATE: self._create, Kind.BEGIN: self._begin,
                          Kind.CANCEL: self._cancel, Kind.END: self._end, Kind.RESPONSE: self._take, Kind.REPLY: self._take,
                          Kind.FIRE: self._take, Kind.DESTROY: self._destroy, Kind.SETTLE: self._settle,
                          Kind.PING: self._ping}
        loop.set_task_factory(self.make_task)

    def take(self, kind, body):
        """Does what the host says. Kinds that it does not know are a newer host's. Malformed: it cannot be read."""
        handle = self._handlers.get(kind)
        if handle is None:
            return
        try:
            handle(body)
        except struct.error as error:
            raise Malformed(f"message {kind}: {error}") from None

    def rests(self):
        """Nothing is ready to run: who asked for that is told, unless threads work."""
        if self._settles and not self.loop.busy:
            for number in self._settles:
                self.put(frame(Kind.SETTLED, U64.pack(number)))
            self._settles.clear()

    def next_id(self):
        return next(self._ids)

    def settle_waiting(self, number, said):
        """Gives what waits for this id its end."""
        self.waiting.pop(number)(said)

    def forget(self, call, ids):
        self._calls.pop(call, None)
        for number in ids:
            self.waiting.pop(number, None)

    def count(self, name, by):
        """[any thread] The first of a name is a question, so that a bad one is told."""
        if name in self._counted:
            self.put(frame(Kind.COUNT, text(name), U64.pack(by)))
            return True
        is_good = self.ask(Kind.COUNT_FIRST, text(name), U64.pack(by))[0] == 0
        if is_good:
            self._counted.add(name)
        return is_good

    def make_task(self, loop, coroutine, **options):
        """The loop's factory: a task that a call's code makes is the call's."""
        call = self.current
        if call is None or not asyncio.iscoroutine(coroutine):
            return asyncio.Task(coroutine, loop=loop, **options)
        task = asyncio.Task(Stepped(coroutine, call), loop=loop, **options)
        call.children.add(task)
        task.add_done_callback(call.children.discard)
        return task

    def _greet(self, body):
        major, _ = TWO_U32.unpack_from(body)
        refusal = self._plugin.fault(self._actions)
        if major != PROTOCOL_MAJOR:
            refusal = (f"its kit speaks version {PROTOCOL_MAJOR} of the protocol, and this host version {major}\n"
                       "copy waybill_plugin.py of this host's release into the plugin's folder")
        self.put(hello(refusal))

    def _check(self, body):
        (what,) = U32.unpack_from(body)
        (action_type, data), _ = read_texts(body, 4, 2)
        check = self._plugin.find(_text_of(action_type), "check_settings" if what == 1 else "check_destination")
        self.page.enter(0)
        problems = problems_of(check, data) if check else []
        self.page.leave()
        self.put(frame(Kind.CHECKED, U32.pack(len(problems)), pair_list(problems)))

    def _create(self, body):
        (action_type, settings), _ = read_texts(body, 0, 2)
        action = self._actions.get(_text_of(action_type))
        if action is None or self._action is not None:
            why = "it sends no such action type" if action is None else "it has a sender already"
            self.put(frame(Kind.CREATED, TWO_U32.pack(0, 0), pair_list([("", why)])))
            return
        try:
            self.settings = _object_of(settings)
        except (ValueError, RecursionError) as error:
            self.put(frame(Kind.CREATED, TWO_U32.pack(0, 0), pair_list([("", f"its settings are no JSON: {error}")])))
            return
        self._action = action
        if action.is_blocking:
            self.thread = concurrent.futures.ThreadPoolExecutor(1, "waybill-blocking")
        abilities = sum(bit for role, bit in ABILITIES.items() if self._plugin.find(action.type, role))
        self.put(frame(Kind.CREATED, TWO_U32.pack(1, abilities), pair_list(())))

    def _begin(self, body):
        number, asked, attempt, maybe_sent_before, deadline_ms = BEGIN.unpack_from(body)
        texts, at = read_texts(body, BEGIN.size, len(JOB_TEXTS))
        (since,) = I64.unpack_from(body, at)
        (page,), _ = read_texts(body, at + 8, 1)
        if self._action is None:
            self.page.take_up()
            return
        role = ROLES[asked] if asked < len(ROLES) else "what this host asks"
        job = Job(attempt, maybe_sent_before, deadline_ms, texts, since, page)
        call = self._calls[number] = Call(self, number, role, self._plugin.find(self._action.type, role), job)
        call.begin()

    def _cancel(self, body):
        call = self._calls.get(U64.unpack_from(body)[0])
        if call is not None:
            call.cancel()

    def _end(self, body):
        call = self._calls.get(U64.unpack_from(body)[0])
        if call is not None:
            call.end()

    def _take(self, body):
        take = self.waiting.pop(U64.unpack_from(body)[0], None)
        if take is not None:
            take(body)

    def _settle(self, body):
        self._settles.append(U64.unpack_from(body)[0])

    def _ping(self, body):
        self.put(frame(Kind.PONG, U64.pack(U64.unpack_from(body)[0])))

    def _destroy(self, body):
        for call in tuple(self._calls.values()):
            call.end()
        if self.thread is not None:
            self.thread.shutdown(wait=False)
        self.thread = self._action = None
        self.settings = {}
        self._counted.clear()


def hello(refusal):
    """The first message: `refusal` says why the plugin cannot be used and, in a second line, what would help. The last number: it
    can be told `create` once more after `destroy`."""
    return frame(Kind.HELLO, TWO_U32.pack(PROTOCOL_MAJOR, PROTOCOL_MINOR), text(b""), text(words(refusal)), U32.pack(1))


class Selector(selectors.DefaultSelector):
    """Calls `before_wait` with the time that the loop is about to wait: 0 when something is ready to run, None for ever. What it
    returns is waited for."""
    before_wait = staticmethod(lambda timeout: timeout)

    def select(self, timeout=None):
        return super().select(self.before_wait(timeout))


class Loop(asyncio.SelectorEventLoop):
    """Knows what threads do for the plugin: `busy` has a future for each piece of work that is not done."""

    def __init__(self, selector):
        super().__init__(selector)
        self.busy = set()
        self._threads = None

    def work(self, executor, function, *arguments):
        """Runs the function in a thread. Returns the thread's future, and the loop's."""
        work = executor.submit(function, *arguments)
        self.busy.add(work)
        said = asyncio.wrap_future(work, loop=self)
        work.add_done_callback(lambda _: self.call_soon_threadsafe(self.busy.discard, work))  # after `said` has what was said
        return work, said

    def run_in_executor(self, executor, function, *arguments):
        if executor is None and self._threads is None:
            self._threads = concurrent.futures.ThreadPoolExecutor()
        return self.work(executor or self._threads, function, *arguments)[1]

    def set_default_executor(self, executor):
        self._threads = executor


class Stream:
    """Messages both ways. put() is safe from any thread; the rest belongs to the loop's. Frames leave once in each turn of the
    loop, and no write ever waits. A thread sends what was put while the loop does not turn."""
    READ_AT_ONCE = SEND_AT_ONCE = 256 << 10
    FLUSH_AT = 256  # frames
    FLUSH_EVERY = 0.02
    QUIET_ROUNDS = 50  # after which the thread sleeps until something is put

    def __init__(self, connection, loop, take):
        self._connection = connection
        self._loop = loop
        self._take = take
        self._frames = Frames()
        self._put = collections.deque()
        self._left = memoryview(b"")  # of what was begun to be sent
        self._sending = threading.Lock()
        self._turns = 0
        self._waits_to_write = False
        self._flusher_sleeps = False
        self._wake_flusher = threading.Event()
        loop.add_reader(connection, self._read)
        threading.Thread(target=self._flush_what_waits, name="waybill-flusher", daemon=True).start()

    def put(self, message):
        self._put.append(message)
        if len(self._put) >= self.FLUSH_AT:
            self._flush()
        if self._flusher_sleeps:
            self._flusher_sleeps = False
            self._wake_flusher.set()

    def turn(self):
        """What was put leaves; or, if the host does not read now, when it does."""
        self._turns += 1
        if not self._put and not self._left:
            return
        waits = not self._flush()
        if waits != self._waits_to_write:
            self._waits_to_write = waits
            if waits:
                self._loop.add_writer(self._connection, lambda: None)  # a turn, which flushes
            else:
                self._loop.remove_writer(self._connection)

    def _read(self):
        try:
            data = self._connection.recv(self.READ_AT_ONCE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if not data:
            leave(EXIT_HOST_IS_GONE)
        try:
            for kind, body in self._frames.cut(data):
                self._take(kind, body)
        except Malformed as error:
            tell(f"what the host said cannot be read: {error}")
            leave(EXIT_MALFORMED)
        except Exception as error:
            tell(error)
            leave(EXIT_MALFORMED)

    def _flush(self):
        """[any thread] False: the host does not read now, and some is left."""
        with self._sending:
            while self._left or self._put:
                if not self._left:
                    self._left = memoryview(self._next_bytes())
                try:
                    self._left = self._left[self._connection.send(self._left, socket.MSG_DONTWAIT):]
                except BlockingIOError:
                    return False
                except ConnectionError:
                    leave(EXIT_HOST_IS_GONE)
            return True

    def _next_bytes(self):
        frames, size = [], 0
        while self._put and size < self.SEND_AT_ONCE:
            frames.append(self._put.popleft())
            size += len(frames[-1])
        return b"".join(frames)

    def _flush_what_waits(self):
        """[its own thread] A step that does not come back must not keep what others said before it."""
        quiet, turns_then = 0, -1
        while True:
            if quiet >= self.QUIET_ROUNDS:
                self._wake_flusher.clear()
                self._flusher_sleeps = True
                if not self._put:
                    self._wake_flusher.wait()
                quiet = 0
            time.sleep(self.FLUSH_EVERY)
            waits = bool(self._put or self._left)
            quiet = 0 if waits else quiet + 1
            if waits and self._turns == turns_then:
                self._flush()
            turns_then = self._turns


class Questions:
    """One question at a time, from any thread: who asks waits for the answer."""

    def __init__(self, connection):
        self._connection = connection
        self._frames = Frames()
        self._lock = threading.Lock()

    def ask(self, kind, *fields):
        """(status, values): as the service's function returns it, or -1; and a list of bytes."""
        with self._lock:
            try:
                self._connection.sendall(frame(kind, *fields))
                return self._answer()
            except ConnectionError:
                leave(EXIT_HOST_IS_GONE)
            except (Malformed, struct.error) as error:
                tell(f"the host's answer cannot be read: {error}")
                leave(EXIT_MALFORMED)

    def _answer(self):
        while True:
            data = self._connection.recv(Stream.READ_AT_ONCE)
            if not data:
                leave(EXIT_HOST_IS_GONE)
            for kind, body in self._frames.cut(data):
                if kind != Kind.ANSWER:
                    raise Malformed(f"message {kind} is no answer")
                (status_number,) = I32.unpack_from(body)
                count, at = read_count(body, 4, 4)
                return status_number, read_texts(body, at, count)[0]


def leave(code):
    """Ends the process, whatever its threads do."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def has_network():
    """Whether this process may open sockets of its own. Only with `network: true` in its isolation may a plugin."""
    try:
        socket.socket().close()
    except PermissionError:
        return False
    except OSError:
        return True
    return True


def _is_started_by_a_host():
    try:
        return all(stat.S_ISSOCK(os.fstat(descriptor).st_mode) for descriptor in (3, 4)) and os.fstat(5) is not None
    except OSError:
        return False


def run():
    """Serves the host until it is gone. The program's last line: it does not return."""
    if not _is_started_by_a_host():
        print("Waybill's host starts this program. To try it: python3 -m unittest, or waybill plugin check FOLDER", file=sys.stderr)
        sys.exit(EXIT_STARTED_BY_HAND)
    sys.stdout.reconfigure(line_buffering=True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from a terminal, for the host: it ends this process when it is done
    connection = socket.socket(fileno=3)
    try:
        actions = read_actions("plugin.json")
    except ValueError as error:
        connection.sendall(hello(str(error)))
        leave(EXIT_HOST_IS_GONE)
    selector = Selector()
    loop = Loop(selector)
    stream = Stream(connection, loop, lambda kind, body: guest.take(kind, body))
    page = Page(memoryview(mmap.mmap(5, PAGE_BYTES)).cast("Q"))
    guest = Guest(the_plugin, actions, loop, stream.put, Questions(socket.socket(fileno=4)).ask, page, has_network)

    def before_wait(timeout):
        if timeout != 0:
            guest.rests()
        stream.turn()
        return timeout

    selector.before_wait = before_wait
    loop.run_forever()
