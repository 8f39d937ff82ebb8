"""A host for the unit tests of a Waybill plugin in Python: its network is scripted, and its clock goes only where nothing else
is left to do.

    import sender  # the plugin; its decorators say what it has
    from waybill_testing import FakeHost

    host = FakeHost(secrets={"my_key": "value"})
    host.answer(status=201, json={"id": "7"})
    outcome = host.send("my_destination", destination={"url": "https://api.test"}, payload={"text": "Hello"})
    assert outcome.verdict == "accepted" and host.requests[0].json() == {"text": "Hello"}

It speaks the protocol of docs/plugin-protocol.md with the kit, in one thread and without sockets. What a host would refuse or
complain of raises AssertionError. Times are in seconds.
"""
import atexit
import base64
import collections
import functools
import hashlib
import heapq
import hmac
import itertools
import json as json_module
import os
import re
import sys
import threading
import time
import urllib.parse

import waybill_plugin as waybill
from waybill_plugin import I32, I64, U32, U64, Kind, frame, pair_list, read_count, read_texts, text, text_list

DEFAULT_RESPONSE_BYTES = 4096
MAX_LINK_SECONDS = 7 * 24 * 3600
MAX_PAGES = 1000
GRACE = 1.0  # from the cancel at a call's deadline to its end

_REACH_OF_ERROR = {None: "answered", "refused": "not_sent", "resolve": "not_sent", "connect": "not_sent", "tls": "not_sent"}
_WORD = re.compile(r"[a-z0-9_]{1,64}")
_SECRET, _SECRET_OR_TOKEN = re.compile(r"\{(secret):([^{}]*)\}"), re.compile(r"\{(secret|oauth2):([^{}]*)\}")
_FETCH_TEXTS = ("method", "url", "body", "basic_user", "basic_password", "sigv4_region", "sigv4_service", "sigv4_key_id",
                "sigv4_secret_key")
_FORMS = {0: lambda value: value, 1: lambda value: json_module.dumps(value)[1:-1], 2: lambda value: urllib.parse.quote(value, "")}

Log = collections.namedtuple("Log", "level text fields")  # `fields` is a dict
Failure = collections.namedtuple("Failure", "provider_ref idempotency_key reason detail failed_at")
Failures = collections.namedtuple("Failures", "failures outcome")  # of all pages, and the last page's outcome
Rendering = collections.namedtuple("Rendering", "template data")


class Headers(dict):
    """By name, in any case."""

    def __init__(self, pairs):
        super().__init__((name.lower(), value) for name, value in reversed(pairs))

    def __getitem__(self, name):
        return super().__getitem__(name.lower())

    def __contains__(self, name):
        return super().__contains__(name.lower())

    def get(self, name, otherwise=None):
        return super().get(name.lower(), otherwise)


class Request:
    """One request as the plugin made it: method, url, headers, body, timeout, max_response_bytes, and the names basic_user,
    basic_password, sigv4_region, sigv4_service, sigv4_key_id, sigv4_secret_key.

    filled_url, filled_headers and filled_body are what would leave, with the values of secrets; None if the host refused it.
    """

    def __init__(self, body):
        timeout_ms, self.max_response_bytes = waybill.TWO_U32.unpack_from(body, 16)
        self.timeout = timeout_ms / 1000
        texts, at = read_texts(body, 24, len(_FETCH_TEXTS))
        for name, value in zip(_FETCH_TEXTS, texts):
            setattr(self, name, value if name == "body" else value.decode())
        count, at = read_count(body, at, 8)
        texts, at = read_texts(body, at, 2 * count)
        texts = [one.decode() for one in texts]
        self.header_list = list(zip(texts[::2], texts[1::2]))
        self.headers = Headers(self.header_list)
        self.body_secrets = []  # of (offset, name, form)
        count, at = read_count(body, at, 16)
        for _ in range(count):
            (offset,) = U64.unpack_from(body, at)
            (name,), at = read_texts(body, at + 8, 1)
            self.body_secrets.append((offset, name.decode(), I32.unpack_from(body, at)[0]))
            at += 4
        self.filled_url = self.filled_headers = self.filled_body = None
        self.is_aborted = False

    def json(self):
        return waybill.read_json(self.body)


class Mail:
    """One mail as the plugin handed it in: relay, mail_from, recipients, data, tls, user, password (a name), timeout."""

    def __init__(self, body):
        _, timeout_ms, tls = U32.unpack_from(body, 16)[0], U32.unpack_from(body, 20)[0], I32.unpack_from(body, 24)[0]
        self.timeout = timeout_ms / 1000
        self.tls = next(word for word, number in waybill.TLS.items() if number == tls)
        texts, at = read_texts(body, 28, 5)
        self.relay, self.user, self.password, self.mail_from = (one.decode() for one in texts[:4])
        self.data = texts[4]
        count, at = read_count(body, at, 4)
        self.recipients = [one.decode() for one in read_texts(body, at, count)[0]]
        self.is_aborted = False


class _Scripted:
    """What the network does with a request or a mail."""

    def __init__(self, answer, *, error=None, reach=None, error_text="as scripted", after=0, silent=False):
        self.error = error
        self.reach = reach or ("maybe_sent" if silent else _REACH_OF_ERROR.get(error, "maybe_sent"))
        self.error_text = error_text
        self.after = after
        self.silent = silent
        self.__dict__.update(answer)


class _Call:
    def __init__(self, role, deadline):
        self.role = role
        self.deadline = deadline
        self.is_cancelled = False
        self.outcome = None
        self.failures = []
        self.next_page = ""
        self.payload = b""


class FakeLoop(waybill.Loop):
    """asyncio on the clock of the fake host: asyncio.sleep() and timeouts take no time either."""
    now = 0.0

    def time(self):
        return self.now


@functools.cache
def the_loop():
    """One for all hosts of a process, since what a plugin keeps in its module may belong to a loop."""
    selector = waybill.Selector()
    loop = FakeLoop(selector)
    loop.selector = selector
    atexit.register(loop.close)
    return loop


class FakeHost:
    """A host with the plugin whose module the test has imported.

      settings          the operator's settings of the action type
      secrets           name: value, or a list of values, the newest first. Private keys are not read: signatures are made up
      readable_secrets  names that host.secret() gives the value of
      oauth2_clients    names, for {oauth2:NAME}
      templates         id: {"subject": ..., "text": ...}: what rendering gives, whatever the data
      has_link_key      whether host.link() works
      insecure          secrets may leave without TLS
      unix_seconds      the clock's begin
      plugin_json       its path; None: beside the file that makes the FakeHost
      patience          how long, of real time, a thread of the plugin may work

    What it saw: requests, mails, sleeps (seconds), logs, counts (a dict), renderings; now: seconds since its begin.
    """

    def __init__(self, *, settings=None, secrets=None, readable_secrets=(), oauth2_clients=(), templates=None, has_link_key=True,
                 insecure=False, unix_seconds=1_700_000_000, plugin=None, plugin_json=None, patience=10):
        if plugin_json is None:
            plugin_json = os.path.join(os.path.dirname(os.path.abspath(sys._getframe(1).f_code.co_filename)), "plugin.json")
        self.requests, self.mails, self.sleeps, self.logs, self.renderings = [], [], [], [], []
        self.counts = collections.Counter()
        self._settings = settings or {}
        self._secrets = {name: [one] if isinstance(one, str) else list(one) for name, one in (secrets or {}).items()}
        self._readable_secrets = set(readable_secrets)
        self._oauth2_clients = set(oauth2_clients)
        self._templates = templates or {}
        self._has_link_key = has_link_key
        self._insecure = insecure
        self._unix_seconds = unix_seconds
        self._patience = patience
        self._answers, self._mail_answers = collections.deque(), collections.deque()
        self._answers_by_url = collections.defaultdict(collections.deque)
        self._faults = []
        self._said = collections.deque()  # frames of the plugin
        self._replies = {}  # the last message of each kind that answers something
        self._calls = {}
        self._open = {}  # what aborts each request that is not answered, by id; None for a timer
        self._events, self._numbers = [], itertools.count(1)
        self._works_since = None
        self._thread = threading.get_ident()
        self._action = self._last_call = None
        self._questions = threading.Lock()
        self._plugin = plugin or waybill.the_plugin
        try:
            self._actions = waybill.read_actions(plugin_json)
        except ValueError as error:
            raise AssertionError(str(error)) from None
        if fault := self._plugin.fault(self._actions):
            raise AssertionError(fault)
        self._loop = the_loop()
        self._begun_at = self._loop.now
        self._guest = waybill.Guest(self._plugin, self._actions, self._loop, self._hear, self._answer_question,
                                    waybill.Page([0, 0, 0]), sends_itself=lambda: False, unix_seconds=self._unix_time)

    @property
    def now(self):
        return self._loop.now - self._begun_at

    def _unix_time(self):
        return self._unix_seconds + self.now

    def _hear(self, message):
        """[any thread]"""
        self._said.append(message)
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(lambda: None)  # a turn, which takes it

    # ---- the script ----

    def answer(self, status=200, *, body=b"", json=None, headers=None, retry_after=None, url=None, **ending):
        """Scripts the answer to the next request, or to the next for `url`. In place of `status`, a function of the Request may
        return a dict of these words.

        `ending`: error="timeout" or another of Answer.error, with reach= and error_text=; after= seconds; silent=True: nothing
        comes before the timeout.
        """
        if callable(status):
            scripted = status
        else:
            scripted = _answer(status, body=body, json=json, headers=headers, retry_after=retry_after, **ending)
        (self._answers if url is None else self._answers_by_url[url]).append(scripted)

    def mail_answer(self, code=250, text="2.0.0 Ok", *, stage="data", recipients=None, **ending):
        """Scripts the reply to the next mail. `recipients`: {"a@b": (550, "5.1.1 unknown")} for those that are not taken. `ending`:
        as of answer()."""
        self._mail_answers.append(_Scripted({"code": code, "text": text, "stage": stage, "recipients": recipients or {}}, **ending))

    # ---- what a host asks ----

    def send(self, action_type, **job):
        """One attempt, from its begin to its outcome, a waybill.Outcome. A plugin that composes does so first, unless the job has an
        artifact.

        `job`: destination, payload (any JSON, or bytes), idempotency_key, attempt, maybe_sent_before, deadline, target, action_id,
        context, artifact, artifact_type, progress; and cancel_after=seconds.
        """
        self._create(action_type)
        if self._has("compose") and not job.get("artifact"):
            composed = self._run_call("compose", **job)
            if composed.verdict != "accepted":
                return composed
            job.update(artifact=composed.artifact, artifact_type=composed.artifact_type)
        return self._run_call("sender", **job)

    def compose(self, action_type, **job):
        """The outcome of compose, with its artifact."""
        return self._ability("compose", action_type, job)

    def status(self, action_type, **job):
        """The outcome of status about provider_ref="..."."""
        return self._ability("status", action_type, job)

    def probe(self, action_type, **job):
        return self._ability("probe", action_type, job)

    def failures(self, action_type, since=0, **job):
        """All pages: (failures, outcome of the last page)."""
        self._create(action_type)
        found, page = [], ""
        for _ in range(MAX_PAGES):
            outcome = self._ability("failures", action_type, dict(job, since=since, page=page))
            call = self._last_call
            found += call.failures
            page = call.next_page
            if not page or outcome.verdict != "accepted":
                return Failures(found, outcome)
        raise AssertionError(f"the list of failures has no end: {MAX_PAGES} pages")

    def check_settings(self, action_type, settings):
        """The problems, a list of (JSON pointer, message)."""
        return self._check(1, action_type, settings)

    def check_destination(self, action_type, destination):
        return self._check(2, action_type, destination)

    def _ability(self, role, action_type, job):
        self._create(action_type)
        if not self._has(role):
            raise AssertionError(f"the plugin has no {role} for {action_type}")
        return self._run_call(role, **job)

    def _has(self, role):
        return self._plugin.find(self._action.type, role) is not None

    def _check(self, what, action_type, value):
        body = U32.pack(what) + text(action_type) + text(waybill.write_json(value))
        first, second = self._exchange(Kind.CHECK, body, Kind.CHECKED), self._exchange(Kind.CHECK, body, Kind.CHECKED)
        if first != second:
            raise AssertionError("a check must say the same of the same value each time")
        count, at = read_count(first, 4, 8)
        said = [one.decode() for one in read_texts(first, at, 2 * count)[0]]
        return list(zip(said[::2], said[1::2]))

    def _create(self, action_type):
        if self._action is not None and self._action.type == action_type:
            return
        if action_type not in self._actions:
            raise AssertionError(f"plugin.json has no action type {action_type}")
        if self._action is not None:
            self._guest.take(Kind.DESTROY, b"")
        self._action = self._actions[action_type]
        self._exchange(Kind.CREATE, text(action_type) + text(waybill.write_json(self._settings)), Kind.CREATED)

    def _exchange(self, kind, body, reply):
        self._guest.take(kind, body)
        self._take_what_was_said()
        return self._replies.pop(reply)

    def _run_call(self, role, *, destination=None, payload=None, idempotency_key="key-1", attempt=1, maybe_sent_before=False,
                  deadline=30, target="target-1", action_id="1", context=None, artifact=b"", artifact_type="", provider_ref="",
                  progress=None, since=0, page="", cancel_after=None):
        number = next(self._numbers)
        call = self._calls[number] = self._last_call = _Call(role, self.now + deadline)
        if not isinstance(payload, bytes):
            payload = b"" if payload is None else waybill.write_json(payload)
        call.payload = payload
        context = context or {"org": "default", "kind": "intent", "reference": idempotency_key}
        texts = {"action_id": action_id, "target": target, "idempotency_key": idempotency_key,
                 "destination": waybill.write_json(destination or {}), "payload": call.payload,
                 "context": waybill.write_json(context), "artifact_type": artifact_type, "artifact": artifact,
                 "provider_ref": provider_ref, "progress": b"" if progress is None else waybill.write_json(progress)}
        self._guest.take(Kind.BEGIN, b"".join((
            waybill.BEGIN.pack(number, waybill.ROLES.index(role), attempt, maybe_sent_before, waybill.milliseconds(deadline)),
            *(text(texts[name]) for name in waybill.JOB_TEXTS), I64.pack(since), text(page))))
        if cancel_after is not None:
            self._at(self.now + cancel_after, lambda: self._cancel(number))
        self._at(call.deadline, lambda: self._cancel(number))
        self._at(call.deadline + GRACE, lambda: self._give_up(number))
        self._run()
        del self._calls[number]
        if call.outcome is None:
            self._guest.take(Kind.END, U64.pack(number))
        if self._faults:
            faults, self._faults = self._faults, []
            raise AssertionError("\n".join(faults))
        return call.outcome

    def _cancel(self, number):
        if number in self._calls and self._calls[number].outcome is None:
            self._calls[number].is_cancelled = True
            self._guest.take(Kind.CANCEL, U64.pack(number))

    def _give_up(self, number):
        if number in self._calls and self._calls[number].outcome is None:
            self._faults.append("the call was not completed by its deadline, nor when it was cancelled")

    # ---- time ----

    def _run(self):
        loop = self._loop
        loop.selector.before_wait = self._before_wait
        loop.set_task_factory(self._guest.make_task)
        try:
            loop.run_forever()
        finally:
            loop.selector.before_wait = waybill.Selector.before_wait

    def _at(self, due, action):
        heapq.heappush(self._events, (due, next(self._numbers), action))

    def _before_wait(self, timeout):
        """Between two turns of the loop: hears the plugin, and, when nothing is ready, makes happen what comes next."""
        self._take_what_was_said()
        if timeout == 0:
            return 0
        if self._loop.busy:
            return self._wait_for_threads()
        self._works_since = None
        if self._last_call.outcome is not None or self._faults:
            self._loop.stop()
            return 0
        wait = max(0, self._events[0][0] - self.now)
        if timeout is not None and timeout < wait:
            self._loop.now += timeout
        else:
            self._loop.now += wait
            heapq.heappop(self._events)[2]()
        return 0

    def _wait_for_threads(self):
        self._works_since = self._works_since or time.monotonic()
        if time.monotonic() - self._works_since > self._patience:
            self._faults.append(f"a thread of the plugin has worked for {self._patience} seconds")
            self._loop.busy.clear()
            return 0
        return self._patience

    # ---- what the plugin says ----

    def _take_what_was_said(self):
        takers = {Kind.FETCH: self._fetch, Kind.ABORT_FETCH: self._abort, Kind.SUBMIT: self._submit,
                  Kind.ABORT_SUBMISSION: self._abort, Kind.TIMER: self._start_timer, Kind.CANCEL_TIMER: self._drop_timer,
                  Kind.FAILURE: self._failure, Kind.NEXT_PAGE: self._next_page, Kind.LOG: self._log, Kind.COUNT: self._count,
                  Kind.COMPLETE: self._complete}
        while self._said:
            for kind, body in waybill.Frames().cut(self._said.popleft()):
                if kind in takers:
                    takers[kind](body)
                else:
                    self._replies[kind] = body

    def _fetch(self, body):
        number, request_id = waybill.CALL_AND_ID.unpack_from(body)
        call, request = self._calls[number], Request(body)
        self.requests.append(request)
        scripted = self._choose_answer(request, call)
        most = request.max_response_bytes or DEFAULT_RESPONSE_BYTES
        self._begin_exchange(call, request_id, request, scripted, Kind.RESPONSE,
                             lambda ending: _response(request_id, ending, most))

    def _submit(self, body):
        number, mail_id = waybill.CALL_AND_ID.unpack_from(body)
        call, mail = self._calls[number], Mail(body)
        self.mails.append(mail)
        scripted = self._choose_mail_answer(mail)
        self._begin_exchange(call, mail_id, mail, scripted, Kind.REPLY, lambda ending: _reply(mail_id, ending, mail.recipients))

    def _begin_exchange(self, call, request_id, asked, scripted, kind, encode):
        left = call.deadline - self.now
        limit = self.now + min(asked.timeout or left, left - min(max(left / 20, 0), 0.1))

        def end(ending):
            if self._open.pop(request_id, None) is not None:
                self._guest.take(kind, encode(ending))

        def abort():
            asked.is_aborted = True
            end(_Scripted({}, error="cancelled", reach=scripted.reach, error_text="the request was aborted"))

        self._open[request_id] = abort
        if scripted.silent or self.now + scripted.after > limit:
            self._at(limit, lambda: end(_Scripted({}, error="timeout", reach=scripted.reach, error_text="no answer came in time")))
        else:
            self._at(self.now + scripted.after, lambda: end(scripted))

    def _abort(self, body):
        abort = self._open.get(U64.unpack_from(body)[0])
        if abort is not None:
            self._at(self.now, abort)

    def _start_timer(self, body):
        number, timer_id = waybill.CALL_AND_ID.unpack_from(body)
        seconds = I64.unpack_from(body, 16)[0] / 1000
        if not self._calls[number].is_cancelled:  # after a cancel the timer is the kit's
            self.sleeps.append(seconds)
        self._open[timer_id] = None

        def fire():
            if timer_id in self._open:
                del self._open[timer_id]
                self._guest.take(Kind.FIRE, U64.pack(timer_id))

        self._at(self.now + seconds, fire)

    def _drop_timer(self, body):
        self._open.pop(U64.unpack_from(body)[0], None)

    def _failure(self, body):
        failed_at = I64.unpack_from(body, 8)[0]
        said = [one.decode() for one in read_texts(body, 16, 4)[0]]
        self._expect_words("a failure", *said)
        self._calls[U64.unpack_from(body)[0]].failures.append(Failure(*said, failed_at))

    def _next_page(self, body):
        self._calls[U64.unpack_from(body)[0]].next_page = read_texts(body, 8, 1)[0][0].decode()

    def _log(self, body):
        level = next(word for word, number in waybill.LEVELS.items() if number == I32.unpack_from(body, 8)[0])
        (said,), at = read_texts(body, 12, 1)
        count, at = read_count(body, at, 8)
        pairs = [one.decode() for one in read_texts(body, at, 2 * count)[0]]
        self.logs.append(Log(level, said.decode(), dict(zip(pairs[::2], pairs[1::2]))))
        self._expect_no_secret("a log event", said.decode(), *pairs)

    def _count(self, body):
        (name,), at = read_texts(body, 0, 1)
        self.counts[name.decode()] += U64.unpack_from(body, at)[0]

    def _complete(self, body):
        call = self._calls.get(U64.unpack_from(body)[0])
        if call is None or call.outcome is not None:
            return
        call.outcome = read_outcome(body)
        for request_id in tuple(self._open):
            del self._open[request_id]
        self._expect_good_outcome(call)

    # ---- what a host complains of ----

    def _expect_good_outcome(self, call):
        outcome = call.outcome
        if outcome.verdict != "accepted" and not _WORD.fullmatch(outcome.reason):
            self._faults.append(f"the reason {outcome.reason!r} is no word of a-z, 0-9 and _: {outcome!r}")
        elif outcome.verdict == "rejected" and outcome.reason not in self._action.reasons:
            self._faults.append(f"rejected with the reason {outcome.reason!r}, which plugin.json does not list: {outcome!r}")
        if outcome.artifact and (call.role != "compose" or outcome.verdict != "accepted"):
            self._faults.append(f"an artifact in an outcome that is not of an accepted compose: {outcome!r}")
        if call.role == "compose" and outcome.verdict == "accepted" and not 0 < len(outcome.artifact) <= 1 << 20:
            self._faults.append(f"an accepted compose has an artifact of 1 byte to 1 MiB, not {len(outcome.artifact)} bytes")
        self._expect_words("an outcome", outcome.reason, outcome.detail, outcome.provider_ref, outcome.artifact_type)
        self._expect_no_secret("an outcome", waybill.write_json(outcome.result).decode())

    def _expect_words(self, what, *said):
        for one in said:
            if any(ord(c) < 0x20 or ord(c) == 0x7f for c in one):
                self._faults.append(f"{what} has more than one line: {one!r}")
        self._expect_no_secret(what, *said)

    def _expect_no_secret(self, what, *said):
        for name, values in self._secrets.items():
            if any(value and value in one for value in values for one in said):
                self._faults.append(f"{what} gives the secret {name!r} away")

    # ---- the network ----

    def _choose_answer(self, request, call):
        try:
            self._fill(request, call)
        except ValueError as error:
            return _Scripted({}, error="refused", error_text=str(error))
        scripted = self._answers_by_url.get(request.url) or self._answers
        if not scripted:
            self._faults.append(f"no answer is scripted for {request.method} {request.url}")
            return _Scripted({}, error="connect")
        chosen = scripted.popleft()
        return _answer(**chosen(request)) if callable(chosen) else chosen

    def _fill(self, request, call):
        """What would leave. ValueError: why the host refuses it."""
        if b"{secret:" in request.body and b"{secret:" not in call.payload:
            raise ValueError("the body has {secret:, which no host fills in: give it as a list with waybill.Secret")
        named = [request.basic_user, request.basic_password, request.sigv4_key_id, request.sigv4_secret_key]
        named = [name for name in named if name] + [name for _, name, _ in request.body_secrets]

        def value_of(found):
            kind, name = found.groups()
            named.append(name)
            if kind == "secret":
                return self._newest(name)
            if name in self._oauth2_clients:
                return f"token of {name}"
            raise ValueError(f"a header names the OAuth2 client {name!r}, which this host does not have")

        url = _SECRET.sub(value_of, request.url)
        headers = [(name, _SECRET_OR_TOKEN.sub(value_of, value)) for name, value in request.header_list]
        if named and not request.url.startswith("https:") and not self._insecure:
            raise ValueError("a secret needs https")
        if request.sigv4_key_id:
            self._newest(request.sigv4_key_id), self._newest(request.sigv4_secret_key)
        if request.basic_user or request.basic_password:
            login = f"{self._newest(request.basic_user)}:{self._newest(request.basic_password)}"
            headers.append(("Authorization", "Basic " + base64.b64encode(login.encode()).decode()))
        request.filled_url, request.filled_headers, request.filled_body = url, Headers(headers), self._filled_body(request)

    def _filled_body(self, request):
        pieces, last = [], 0
        for offset, name, form in request.body_secrets:
            pieces += [request.body[last:offset], _FORMS[form](self._newest(name)).encode()]
            last = offset
        return b"".join((*pieces, request.body[last:]))

    def _newest(self, name):
        if not self._secrets.get(name):
            raise ValueError(f"this host has no secret {name!r}")
        return self._secrets[name][0]

    def _choose_mail_answer(self, mail):
        if not mail.recipients or not all("@" in one for one in mail.recipients):
            return _Scripted({}, error="refused", error_text="a mail needs recipients, and each an address")
        if mail.user and mail.password not in self._secrets:
            return _Scripted({}, error="refused", error_text=f"this host has no secret {mail.password!r}")
        if re.search(rb"(?<!\r)\n|\r(?!\n)", mail.data):
            self._faults.append("a mail has line ends that are not CRLF")
        if not self._mail_answers:
            self._faults.append(f"no answer is scripted for a mail to {mail.recipients[0]}")
            return _Scripted({}, error="connect")
        return self._mail_answers.popleft()

    # ---- questions ----

    def _answer_question(self, kind, *fields):
        """[any thread] (status, values), as of a host."""
        answers = {Kind.SIGN: self._sign, Kind.SIGNATURE: self._signature, Kind.SECRET: self._secret, Kind.RENDER: self._render,
                   Kind.RENDER_TEXT: self._render_text, Kind.LINK: self._link, Kind.FIND_CLIENT: self._find_client,
                   Kind.FORGET_TOKEN: self._find_client, Kind.COUNT_FIRST: self._count_first}
        with self._questions:
            return answers[kind](b"".join(fields))

    def _sign(self, body):
        (name,), at = read_texts(body, 8, 1)
        count, at = read_count(body, at, 4)
        message = b"".join(read_texts(body, at, count)[0])
        values = self._secrets.get(name.decode(), ())
        return 0 if values else 1, [hmac.digest(_key_of(value), message, "sha256") for value in values]

    def _signature(self, body):
        (name,), at = read_texts(body, 12, 1)
        count, at = read_count(body, at, 4)
        if name.decode() not in self._secrets:
            return 1, []
        return 0, [b"signed by " + name + b": " + hashlib.sha256(b"".join(read_texts(body, at, count)[0])).digest()]

    def _secret(self, body):
        name = read_texts(body, 8, 1)[0][0].decode()
        if name not in self._secrets:
            return 1, []
        return (0, [one.encode() for one in self._secrets[name]]) if name in self._readable_secrets else (2, [])

    def _render(self, body):
        template, data = (one.decode() for one in read_texts(body, 0, 2)[0])
        self.renderings.append(Rendering(template, json_module.loads(data)))
        if template not in self._templates:
            return 1, []
        return 0, [one.encode() for part in self._templates[template].items() for one in part]

    def _render_text(self, body):
        template, data = (one.decode() for one in read_texts(body, 0, 2)[0])
        self.renderings.append(Rendering(template, json_module.loads(data)))
        return 0, [b"text", template.encode()]

    def _link(self, body):
        (target,), at = read_texts(body, 0, 1)
        seconds = I64.unpack_from(body, at)[0]
        if not self._has_link_key:
            return 1, []
        if not target.startswith(b"gs://") or not 1 <= seconds <= MAX_LINK_SECONDS:
            return 2, []
        return 0, [b"https://signed.test/" + target[5:] + b"?ttl=%d" % seconds]

    def _find_client(self, body):
        return 0 if read_texts(body, 0, 1)[0][0].decode() in self._oauth2_clients else 1, []

    def _count_first(self, body):
        name = read_texts(body, 0, 1)[0][0].decode()
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
            return 1, []
        self._count(body)
        return 0, []


def _answer(status=200, *, body=b"", json=None, headers=None, retry_after=None, **ending):
    headers = {name.lower(): str(value) for name, value in (headers or {}).items()}
    if retry_after is None and headers.get("retry-after", "").isdigit():
        retry_after = int(headers["retry-after"])
    body = waybill.as_bytes(body) if json is None else waybill.write_json(json)
    return _Scripted({"status": status, "headers": headers, "body": body, "retry_after": retry_after}, **ending)


def _response(request_id, ending, most):
    has_answer = ending.error is None
    body = ending.body if has_answer else b""
    retry_after = -1 if not has_answer or ending.retry_after is None else waybill.milliseconds(ending.retry_after)
    numbers = waybill.RESPONSE.pack(request_id, waybill.number_of(waybill.ERRORS, ending.error, "error"),
                                    waybill.number_of(waybill.REACHES, ending.reach, "reach"),
                                    ending.status if has_answer else 0, len(body) > most, retry_after)
    headers = pair_list(list(ending.headers.items()) if has_answer else ())
    return numbers + text(body[:most]) + text(b"" if has_answer else ending.error_text) + headers


def _reply(mail_id, ending, addresses):
    error, reach = waybill.number_of(waybill.ERRORS, ending.error, "error"), waybill.REACHES[ending.reach]
    if ending.error is not None:
        return waybill.REPLY.pack(mail_id, error, reach, 0, 0) + text(b"") + text(ending.error_text) + U32.pack(0)
    stage, code, said = ending.stage, ending.code, ending.text
    recipients = [ending.recipients.get(one, (250, "2.1.5 Ok")) for one in addresses] if stage in ("rcpt", "data") else []
    if stage == "data" and recipients and all(one[0] // 100 != 2 for one in recipients):
        stage, (code, said) = "rcpt", recipients[-1]
    return b"".join((waybill.REPLY.pack(mail_id, error, reach, waybill.STAGES[stage], code), text(said), text(b""),
                     U32.pack(len(recipients)), *(I32.pack(number) + text(words) for number, words in recipients)))


def read_outcome(body):
    """The Outcome in a message `complete`."""
    _, _, verdict, reach, scope, code, retry_after = waybill.COMPLETE.unpack_from(body)
    texts = read_texts(body, waybill.COMPLETE.size, 6)[0]
    reason, detail, provider_ref, result, artifact_type = (one.decode() for one in texts[:5])
    outcome = waybill.Outcome(_word_of(waybill.VERDICTS, verdict), reason, _word_of(waybill.REACHES, reach), None, {})
    outcome.scope, outcome.code = _word_of(waybill.SCOPES, scope), code
    outcome.retry_after = None if retry_after < 0 else retry_after / 1000
    outcome.detail, outcome.provider_ref = detail, provider_ref
    outcome.result = json_module.loads(result) if result else None
    outcome.artifact_type, outcome.artifact = artifact_type, texts[5]
    return outcome


def _word_of(table, number):
    return next(word for word, one in table.items() if one == number)


def _key_of(secret):
    """The bytes of a secret that signs: "whsec_" and Base64 is decoded."""
    if secret.startswith("whsec_"):
        try:
            return base64.b64decode(secret[len("whsec_"):], validate=True)
        except ValueError:
            pass
    return secret.encode()
