"""A plugin's process and its host, over real sockets: calls, their ends, the page, and what neither side may do to the other."""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest
import unittest.mock

from host_side import (BLOCKING, FOOTER, HEADER, KIT, LIMIT, ONE_ACTION, PluginProcess, ProcessTest, job_fields, release,
                       response_fields)
from waybill_plugin import HEAD, I32, U32, U64, Kind, frame, read_texts, text
import waybill_plugin as waybill

ACCEPTS = """
@waybill.sender("x")
async def send(job, host):
    return waybill.accepted(provider_ref=job.idempotency_key)
"""
FETCHES = """
@waybill.sender("x")
async def send(job, host):
    answer = await host.fetch("POST", job.destination["url"], body=job.payload_bytes, headers={"Key": job.idempotency_key})
    return waybill.judge(answer, "refused")
"""
URL = {"url": "https://api.test"}


class Greeting(ProcessTest):
    def test_it_says_its_version_no_descriptor_and_that_it_lives_again(self):  # I4
        process = PluginProcess(self, ACCEPTS)
        self.assertEqual(process.greet(), "")
        self.assertEqual((process.versions, process.descriptor, process.lives_again), ((1, 1), b"", 1))

    def test_another_major_version_is_refused_with_a_remedy(self):  # I4
        refusal = PluginProcess(self, ACCEPTS).greet(major=2)
        self.assertEqual(refusal, "its kit speaks version 1 of the protocol, and this host version 2\n"
                                  "copy waybill_plugin.py of this host's release into the plugin's folder")

    def test_functions_that_do_not_fit_plugin_json_are_refused_with_a_remedy(self):  # I4
        sends = '@waybill.sender("{}")\nasync def send(job, host): pass\n'
        plain = '@waybill.sender("x")\ndef send(job, host): pass\n'
        for source, actions, what, remedy in (
                (sends.format("xy_destinatoin"), [{"type": "xy_destination"}],
                 '@waybill.sender("xy_destinatoin") names no action type of plugin.json', 'did you mean "xy_destination"?'),
                (sends.format("x") + '@waybill.probe("far_off")\nasync def probe(job, host): pass\n', ONE_ACTION,
                 '@waybill.probe("far_off") names no action type of plugin.json', 'list it under "actions" there'),
                ("", ONE_ACTION, 'plugin.json lists the action type "x", and no function sends it',
                 'write one under @waybill.sender("x")'),
                (plain, ONE_ACTION, 'send(), under @waybill.sender("x"), is a plain def, and would hold up every other call',
                 'write async def, or say "blocking": true for the action in plugin.json'),
                (sends.format("x") + '@waybill.check_settings("x")\nasync def check(settings): pass\n', ONE_ACTION,
                 'check(), under @waybill.check_settings("x"), is an async def, and a check asks nobody', "write def"),
                ('@waybill.sender("x")\nasync def send(job, host): yield 1\n', ONE_ACTION,
                 'send(), under @waybill.sender("x"), yields', "return one outcome, such as waybill.accepted()")):
            with self.subTest(what):
                self.assertEqual(PluginProcess(self, source, actions).greet(), what + "\n" + remedy)

    def test_a_plugin_json_that_is_none_is_refused(self):  # I4
        for content in ("{", '{"actions": 1}', '{"actions": [{}]}', "[]"):
            process = PluginProcess(self, ACCEPTS, plugin_json=content)
            self.assertIn("plugin.json cannot be understood: ", process.greet())

    def python(self, program):
        return subprocess.run([sys.executable, "-B", "-c", program], env={"PYTHONPATH": str(KIT)}, capture_output=True, text=True,
                              timeout=LIMIT)

    def test_without_a_host_it_says_who_starts_it(self):  # I4
        done = self.python(HEADER + ACCEPTS + FOOTER)
        self.assertEqual(done.returncode, 2)
        self.assertIn("Waybill's host starts this program", done.stderr)

    def test_an_older_python_is_told(self):  # I4
        done = self.python("import sys; sys.version_info = (3, 10, 2); import waybill_plugin")
        self.assertEqual((done.returncode, done.stderr), (1, "waybill_plugin needs Python 3.11 or later; this is 3.10.2\n"))

    def test_two_functions_for_one_thing_end_the_start(self):  # I4
        process = PluginProcess(self, ACCEPTS + ACCEPTS)
        self.assertEqual(process.wait(), 1)
        self.assertIn('there are two functions under @waybill.sender("x")', process.error_text())


class Creating(ProcessTest):
    def test_abilities_are_those_of_the_functions(self):  # I4
        source = ACCEPTS + "".join(f'@waybill.{role}("x")\nasync def {role}(job, host): pass\n' for role in ("status", "failures"))
        process = PluginProcess(self, source)
        process.greet()
        self.assertEqual(process.create(), (1, 2 | 8, []))

    def test_what_cannot_be_created_is_told(self):  # I4
        process = PluginProcess(self, ACCEPTS)
        process.greet()
        self.assertEqual(process.create("y")[::2], (0, [("", "it sends no such action type")]))
        done, _, problems = process.create("x", "{")
        self.assertEqual((done, problems[0][1][:24]), (0, "its settings are no JSON"))
        self.assertEqual(process.create()[0], 1)
        self.assertEqual(process.create()[::2], (0, [("", "it has a sender already")]))

    def test_after_destroy_another_sender_can_be_made_and_nothing_of_the_first_is_left(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    try:
        await host.sleep(3600)
    finally:
        print("ended", flush=True)
@waybill.sender("y")
async def other(job, host):
    return waybill.accepted(result=[host.settings, len(asyncio.all_tasks())])
""", ONE_ACTION + [{"type": "y"}], settings='{"first": true}')
        process.begin(1)
        process.expect_timer()
        process.say(frame(Kind.DESTROY))
        self.assertEqual(process.create("y", '{"second": true}')[0], 1)
        self.assertEqual(process.line(), "ended")
        process.begin(2)
        call, outcome = process.completed()
        self.assertEqual((call, outcome.result), (2, [{"second": True}, 1]))


class Ending(ProcessTest):
    def test_it_ends_when_the_host_is_gone(self):  # I4
        process = self.start(ACCEPTS)
        process.stream.close()
        self.assertEqual(process.wait(), 0)

    def test_also_when_a_call_is_open_and_a_thread_is_asleep(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    threading.Thread(target=threading.Event().wait).start()
    await host.fetch("GET", "https://api.test")
""")
        process.begin(1)
        process.expect_fetch()
        process.stream.close()
        self.assertEqual(process.wait(), 0)

    def test_what_cannot_be_read_ends_it_with_70(self):  # I4
        whole = b"".join(job_fields(1))
        for name, message in (("an endless frame", HEAD.pack(0xFFFFFFFF, Kind.BEGIN)),
                              ("a frame without a kind", U32.pack(3) + b"..."),
                              ("half a begin", frame(Kind.BEGIN, whole[:20])),
                              ("a begin without its page", frame(Kind.BEGIN, whole[:-1])),
                              ("a cancel of nothing", frame(Kind.CANCEL)),
                              ("a text without an end", frame(Kind.CREATE, U32.pack(9) + b"x"))):
            with self.subTest(name):
                process = self.start(ACCEPTS)
                process.say(message)
                self.assertEqual(process.wait(), 70)
                self.assertIn("what the host said cannot be read", process.error_text())

    def test_so_does_an_answer_to_a_question(self):  # I4
        process = self.start('@waybill.sender("x")\nasync def send(job, host): host.sign("key", "part")\n')
        process.begin(1)
        process.questions.recv(1 << 16)
        process.questions.sendall(frame(Kind.ANSWER, I32.pack(0), U32.pack(1000)))
        self.assertEqual(process.wait(), 70)

    def test_messages_of_a_newer_host_are_passed_over(self):  # I4
        process = self.start(ACCEPTS)
        process.say(frame(99, b"news"), frame(Kind.BEGIN, *job_fields(1), b"a later field"))
        self.assertEqual(process.completed()[0], 1)

    def test_an_interrupt_from_the_hosts_terminal_is_the_hosts(self):  # I4
        process = self.start(ACCEPTS)
        os.kill(process.pid, signal.SIGINT)
        process.begin(1)
        self.assertEqual(process.completed()[0], 1)


class Calling(ProcessTest):
    def test_a_stream_that_comes_byte_by_byte_is_understood(self):  # I4
        process = self.start(ACCEPTS)
        for byte in frame(Kind.BEGIN, *job_fields(7)):
            process.say(bytes((byte,)))
        self.assertEqual(process.completed()[1].provider_ref, "key-7")

    def test_the_job_is_in_pythons_terms(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    return waybill.accepted(result=[job.attempt, job.maybe_sent_before, job.deadline, job.action_id, job.target,
        job.idempotency_key, job.destination, job.payload, job.payload_bytes.decode(), job.context, job.artifact_type,
        job.artifact.decode(), job.provider_ref, job.progress, host.settings])
""", settings='{"a": 1}')
        process.begin(1, attempt=2, maybe_sent_before=1, deadline_ms=1500, action_id="17", target="ops", destination={"url": "u"},
                      payload=' {"t": "ü"}', context={"org": "o"}, artifact_type="text/plain", artifact="letter", provider_ref="r",
                      progress=[1])
        self.assertEqual(process.completed()[1].result, [2, True, 1.5, "17", "ops", "key-1", {"url": "u"}, {"t": "ü"},
                                                         ' {"t": "ü"}', {"org": "o"}, "text/plain", "letter", "r", [1], {"a": 1}])

    def test_what_is_not_there_is_none(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    return waybill.accepted(result=[job.payload, job.progress, job.payload_bytes.decode(), job.artifact.decode()])
""")
        process.begin(1)
        self.assertEqual(process.completed()[1].result, [None, None, "", ""])

    def test_a_request_has_all_that_it_was_given(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    await host.fetch("PUT", "https://api.test/a", headers=[("A", "1"), ("a", "2")], timeout=2.5, max_response_bytes=9,
                     body=['{"key":"', waybill.Secret("desk", "json"), b'","x":"', waybill.Secret("y"), '"}'],
                     basic_user="user", basic_password="password", sigv4_region="eu", sigv4_service="ses", sigv4_key_id="id",
                     sigv4_secret_key="secret")
    return waybill.accepted()
""")
        process.begin(1)
        _, _, fields = process.expect_fetch()
        numbers, (texts, at) = waybill.TWO_U32.unpack_from(fields), read_texts(fields, 8, 9)
        self.assertEqual(numbers, (2500, 9))
        self.assertEqual(texts, [b"PUT", b"https://api.test/a", b'{"key":"","x":""}', b"user", b"password", b"eu", b"ses", b"id",
                                 b"secret"])
        self.assertEqual(fields[at:], waybill.pair_list([("A", "1"), ("a", "2")]) + U32.pack(2) + U64.pack(8) + text("desk")
                         + I32.pack(1) + U64.pack(15) + text("y") + I32.pack(0))

    def test_an_answer_has_all_that_the_host_said(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    a = await host.fetch("GET", "https://api.test", json=[1])
    return waybill.accepted(result=[a.error, a.reach, a.status, a.is_truncated, a.retry_after, a.json(), a.text, a.headers,
                                    a.header_list, a.error_text])
""")
        process.begin(1)
        _, request, fields = process.expect_fetch()
        self.assertIn(b"Content-Type", fields)
        headers = [("x-id", "7"), ("x-id", "8")]
        process.say(frame(Kind.RESPONSE, *response_fields(request, 201, b'{"id": 7}', headers=headers, retry_after_ms=1500)))
        self.assertEqual(process.completed()[1].result, [None, "answered", 201, False, 1.5, {"id": 7}, '{"id": 7}', {"x-id": "7"},
                                                         [["x-id", "7"], ["x-id", "8"]], ""])

    def test_many_calls_are_open_at_once_and_each_gets_its_own_answer(self):  # I4
        process = self.start(FETCHES)
        calls = range(1, 501)
        process.say(*(frame(Kind.BEGIN, *job_fields(number, destination=URL)) for number in calls))
        asked = [process.expect_fetch() for _ in calls]
        self.assertEqual([number for number, _, _ in asked], list(calls))
        for number, request, _ in reversed(asked):
            process.say(frame(Kind.RESPONSE, *response_fields(request, 200 if number % 2 else 404)))
        ends = dict(process.completed() for _ in calls)
        self.assertEqual({number: one.verdict for number, one in ends.items()},
                         {number: "accepted" if number % 2 else "rejected" for number in calls})

    def test_asyncio_is_the_authors_to_use(self):  # I4
        process = self.start("""
lock = asyncio.Lock()
async def one(host, n):
    async with lock:
        answer = await asyncio.wait_for(host.fetch("GET", f"https://api.test/{n}"), 60)
    await asyncio.sleep(0)
    return answer.status
@waybill.sender("x")
async def send(job, host):
    async with asyncio.TaskGroup() as group:
        task = group.create_task(one(host, 0))
    return waybill.accepted(result=[task.result()] + await asyncio.gather(*(one(host, n) for n in (1, 2))))
""")
        process.begin(1)
        for status in (200, 201, 202):
            _, request, _ = process.expect_fetch()
            process.say(frame(Kind.RESPONSE, *response_fields(request, status)))
        self.assertEqual(process.completed()[1].result, [200, 201, 202])

    def test_a_request_that_its_code_gives_up_is_aborted(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    try:
        await asyncio.wait_for(host.fetch("GET", "https://api.test"), 0.001)
    except TimeoutError:
        return waybill.judge(await host.fetch("GET", "https://api.test/other"), "refused")
""")
        process.begin(1)
        _, request, _ = process.expect_fetch()
        self.assertEqual(process.expect(Kind.ABORT_FETCH), U64.pack(request))
        _, other, _ = process.expect_fetch()
        process.say(frame(Kind.RESPONSE, *response_fields(request, 200)), frame(Kind.RESPONSE, *response_fields(other, 404)))
        self.assertEqual(process.completed()[1].code, 404)

    def test_more_than_64_open_requests_are_an_error_in_the_sender(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    await asyncio.gather(*(host.fetch("GET", "https://api.test") for _ in range(65)))
""")
        process.begin(1)
        for _ in range(64):
            process.expect_fetch()
        outcome = process.completed()[1]
        self.assertEqual((outcome.reason, outcome.reach), ("plugin_error", "maybe_sent"))
        self.assertEqual(outcome.detail, "RuntimeError: a call has 64 open requests at most: wait for some of them")

    def test_timers_are_the_hosts(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    await host.sleep(0.25)
    return waybill.accepted()
""")
        process.begin(1)
        call, timer, delay = process.expect_timer()
        self.assertEqual((call, delay), (1, 250))
        process.say(frame(Kind.FIRE, U64.pack(timer)))
        self.assertEqual(process.completed()[1].verdict, "accepted")

    def test_a_mail_goes_as_it_was_given_and_its_reply_is_judged(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    reply = await host.submit("smtp://relay.test", "a@test", ["b@test", "c@test"], "Subject: x\\r\\n\\r\\ny\\r\\n", tls="required",
                              user="login", password="name", timeout=3)
    return waybill.judge(reply, "refused")
""")
        process.begin(1)
        body = process.expect(Kind.SUBMIT)
        call, mail = waybill.CALL_AND_ID.unpack_from(body)
        is_too_long, timeout_ms, tls = struct.unpack_from("<IIi", body, 16)
        self.assertEqual((call, is_too_long, timeout_ms, tls), (1, 0, 3000, 1))
        texts, at = read_texts(body, 28, 5)
        self.assertEqual(texts, [b"smtp://relay.test", b"login", b"name", b"a@test", b"Subject: x\r\n\r\ny\r\n"])
        self.assertEqual(body[at:], waybill.text_list(["b@test", "c@test"]))
        process.say(frame(Kind.REPLY, waybill.REPLY.pack(mail, 0, 3, 5, 250), text("2.0.0 Ok"), text(""), U32.pack(2),
                          I32.pack(250), text("Ok"), I32.pack(550), text("5.1.1 unknown")))
        outcome = process.completed()[1]
        self.assertEqual((outcome.verdict, outcome.code, outcome.detail), ("rejected", 550, "c@test: 550 5.1.1 unknown"))
        self.assertEqual(outcome.result, {"accepted": ["b@test"],
                                          "refused": [{"address": "c@test", "code": 550, "text": "5.1.1 unknown"}]})

    def test_logs_and_counts_go_to_the_host(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    host.log("it is sent", "warn", parts=3)
    return waybill.accepted(result=[host.count("parts", 3), host.count("parts"), host.count("Bad name")])
""")
        process.begin(5)
        for status in (0, 1):
            process.answer_question(lambda kind, body: (status, ()))
        self.assertEqual(process.expect(Kind.LOG),
                         U64.pack(5) + I32.pack(3) + text("it is sent") + waybill.pair_list([("parts", "3")]))
        self.assertEqual(process.expect(Kind.COUNT), text("parts") + U64.pack(1))
        self.assertEqual(process.completed()[1].result, [True, True, False])

    def test_what_is_printed_comes_line_by_line(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    print("a line")
    await host.fetch("GET", "https://api.test")
""")
        process.begin(1)
        self.assertEqual(process.line(), "a line")


class Failing(ProcessTest):
    def outcome(self, line, answered=False):
        process = self.start(f'@waybill.sender("x")\nasync def send(job, host):\n{line}\n')
        process.begin(1)
        if answered:
            process.say(frame(Kind.RESPONSE, *response_fields(process.expect_fetch()[1])))
        return process.completed()[1], process

    def test_an_exception_completes_the_call_and_goes_to_the_log(self):  # I4
        outcome, process = self.outcome('    raise KeyError("no such\\nfield")')
        self.assertEqual((outcome.verdict, outcome.reason, outcome.scope), ("transient", "plugin_error", "this_job"))
        self.assertEqual(outcome.detail, "KeyError: 'no such\\nfield'")
        self.assertIn('raise KeyError("no such\\nfield")', process.error_text())

    def test_its_text_is_one_line_of_bounded_length(self):  # I4
        outcome, _ = self.outcome('    raise ValueError("a\\nb" * 10000)')
        self.assertTrue(outcome.detail.startswith("ValueError: a ba b"))
        self.assertEqual(len(outcome.detail), waybill.MAX_ERROR_CHARACTERS)

    def test_an_exception_that_cannot_say_what_it_is_is_named(self):  # I4
        outcome, _ = self.outcome("    class Odd(Exception):\n        __str__ = None\n    raise Odd()")
        self.assertEqual(outcome.detail, "Odd")

    def test_it_does_so_where_nothing_can_be_written(self):  # I4
        outcome, _ = self.outcome("    sys.stderr.close()\n    1 / 0")
        self.assertEqual(outcome.detail, "ZeroDivisionError: division by zero")

    def test_after_a_request_it_may_have_been_sent(self):  # I4
        outcome, _ = self.outcome('    await host.fetch("GET", "https://api.test")\n    1 / 0', answered=True)
        self.assertEqual((outcome.reach, outcome.detail), ("maybe_sent", "ZeroDivisionError: division by zero"))

    def test_an_exit_is_an_exception(self):  # I4
        outcome, process = self.outcome("    sys.exit(3)")
        self.assertEqual((outcome.reason, outcome.detail), ("plugin_error", "SystemExit: 3"))
        process.begin(2)
        self.assertEqual(process.completed()[0], 2)

    def test_what_is_no_outcome_is_told(self):  # I4
        for line, name in (("    pass", "NoneType"), ('    return "accepted"', "str"), ("    return waybill.accepted", "function")):
            outcome, _ = self.outcome(line)
            self.assertEqual((outcome.reason, outcome.detail.split(" in place")[0]),
                             ("plugin_error", f"the sender function returned {name}"))

    def test_so_is_what_an_outcome_cannot_have(self):  # I4
        for line, detail in (('    return waybill.transient("a", reach="far")', "ValueError: 'far' is no reach: say one of 'not_sent'"),
                             ('    return waybill.transient("a", retry=3)', "TypeError: an outcome has no 'retry'"),
                             ("    return waybill.rejected(7)", "TypeError: a reason is a word and comes first, not int"),
                             ("    return waybill.accepted(result={1})", "TypeError: Object of type set is not JSON serializable")):
            outcome, _ = self.outcome(line)
            self.assertEqual(outcome.detail[:len(detail)], detail)

    def test_a_payload_that_is_no_json_is_an_exception_when_it_is_touched(self):  # I4
        process = self.start('@waybill.sender("x")\nasync def send(job, host):\n    return waybill.accepted(result=job.payload)\n')
        for payload in (b"\xff", "{", "NaN", "[" * 200_000):
            process.begin(1, payload=payload)
            self.assertEqual(process.completed()[1].reason, "plugin_error")


class Cancelling(ProcessTest):
    def test_open_requests_are_aborted_and_the_function_returns_its_outcome(self):  # I4
        process = self.start(FETCHES)
        process.begin(1, destination=URL)
        _, request, _ = process.expect_fetch()
        process.say(frame(Kind.CANCEL, U64.pack(1)))
        self.assertEqual(process.expect(Kind.ABORT_FETCH), U64.pack(request))
        self.assertEqual(process.expect_timer()[::2], (1, 500))
        process.say(frame(Kind.RESPONSE, *response_fields(request, 0, error="cancelled", reach="maybe_sent")))
        outcome = process.completed()[1]
        self.assertEqual((outcome.reason, outcome.reach), ("cancelled", "maybe_sent"))

    def test_a_sleep_is_over_with_an_exception(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    try:
        await host.sleep(3600)
    except waybill.Cancelled:
        return waybill.transient("gave_up", reach="not_sent")
""")
        process.begin(1)
        _, timer, _ = process.expect_timer()
        process.say(frame(Kind.CANCEL, U64.pack(1)))
        self.assertEqual(process.expect(Kind.CANCEL_TIMER), U64.pack(timer))
        self.assertEqual(process.expect_timer()[2], 500)
        self.assertEqual(process.completed()[1].reason, "gave_up")

    def test_an_exception_that_is_let_out_is_cancelled(self):  # I4
        process = self.start('@waybill.sender("x")\nasync def send(job, host):\n    await host.sleep(3600)\n')
        process.begin(1)
        process.expect_timer()
        process.say(frame(Kind.CANCEL, U64.pack(1)))
        process.expect(Kind.CANCEL_TIMER)
        process.expect_timer()
        outcome = process.completed()[1]
        self.assertEqual((outcome.verdict, outcome.reason), ("transient", "cancelled"))
        self.assertEqual(process.error_text(), "")

    def test_a_function_that_goes_on_is_ended_half_a_second_later(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    try:
        await asyncio.Event().wait()
    finally:
        print("ended")
""")
        process.begin(1)
        process.say(frame(Kind.CANCEL, U64.pack(1)))
        _, timer, delay = process.expect_timer()
        self.assertEqual(delay, 500)
        process.say(frame(Kind.FIRE, U64.pack(timer)))
        call, outcome = process.completed()
        self.assertEqual((call, outcome.verdict, outcome.reason), (1, "transient", "cancelled"))
        self.assertEqual(process.line(), "ended")

    def test_nothing_new_leaves_after_a_cancel(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    try:
        await host.sleep(3600)
    except waybill.Cancelled:
        answer = await host.fetch("GET", "https://api.test")
        return waybill.judge(answer, "refused")
""")
        process.begin(1)
        process.expect_timer()
        process.say(frame(Kind.CANCEL, U64.pack(1)))
        process.expect(Kind.CANCEL_TIMER)
        process.expect_timer()
        outcome = process.completed()[1]
        self.assertEqual((outcome.reason, outcome.reach), ("cancelled", "not_sent"))

    def test_an_end_is_quiet_and_final(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    try:
        await host.fetch("GET", "https://api.test")
    finally:
        host.log("ended")
        try:
            await host.fetch("GET", "https://api.test")
        except waybill.Ended:
            print("refused")
""")
        process.begin(1)
        _, request, _ = process.expect_fetch()
        process.say(frame(Kind.END, U64.pack(1)), frame(Kind.RESPONSE, *response_fields(request)), frame(Kind.CANCEL, U64.pack(1)))
        self.assertEqual(process.line(), "refused")
        process.settle()
        process.expect(Kind.SETTLED)
        self.assertEqual(process.error_text(), "")

    def test_a_call_that_ends_before_it_began_counts_as_taken_up(self):  # I4
        process = self.start(ACCEPTS)
        process.say(frame(Kind.BEGIN, *job_fields(1)), frame(Kind.END, U64.pack(1)), frame(Kind.BEGIN, *job_fields(2)))
        self.assertEqual(process.completed()[0], 2)
        self.assertEqual(process.taken_up, 2)
        self.assertEqual(process.error_text(), "")

    def test_tasks_that_a_call_leaves_behind_end_with_it(self):  # I4
        process = self.start("""
async def go_on(host):
    try:
        await asyncio.Event().wait()
    finally:
        print("ended")
@waybill.sender("x")
async def send(job, host):
    send.kept = asyncio.create_task(go_on(host))
    await asyncio.sleep(0)
    return waybill.accepted()
""")
        process.begin(1)
        self.assertEqual(process.completed()[0], 1)
        self.assertEqual(process.line(), "ended")


class Settling(ProcessTest):
    def test_it_is_told_when_nothing_is_ready_to_run(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    for _ in range(100):
        await asyncio.sleep(0)
    await host.fetch("GET", "https://api.test")
    for _ in range(100):
        await asyncio.sleep(0)
    return waybill.accepted()
""")
        process.say(frame(Kind.SETTLE, U64.pack(3)), frame(Kind.BEGIN, *job_fields(1)), frame(Kind.SETTLE, U64.pack(4)))
        _, request, _ = process.expect_fetch()
        self.assertEqual([process.expect(Kind.SETTLED), process.expect(Kind.SETTLED)], [U64.pack(3), U64.pack(4)])
        process.say(frame(Kind.RESPONSE, *response_fields(request)), frame(Kind.SETTLE, U64.pack(5)))
        process.completed()
        self.assertEqual(process.expect(Kind.SETTLED), U64.pack(5))

    def test_a_timer_of_asyncio_is_not_waited_for(self):  # I4
        process = self.start('@waybill.sender("x")\nasync def send(job, host):\n    await asyncio.sleep(3600)\n')
        process.begin(1)
        process.settle(6)
        self.assertEqual(process.expect(Kind.SETTLED), U64.pack(6))

    def test_threads_that_work_are_waited_for(self):  # I4
        for source, actions in (("""
def work(path):
    print("works")
    open(path).read()
@waybill.sender("x")
async def send(job, host):
    await asyncio.to_thread(work, job.destination["gate"])
    return waybill.accepted()
""", ONE_ACTION), ("""
@waybill.sender("x")
def send(job, host):
    print("works")
    open(job.destination["gate"]).read()
    return waybill.accepted()
""", BLOCKING)):
            process, gate = self.start(source, actions), self.gate()
            process.begin(1, destination={"gate": gate})
            self.assertEqual(process.line(), "works")
            process.settle()
            release(gate)
            self.assertEqual(process.completed()[0], 1)
            process.expect(Kind.SETTLED)


class ThePage(ProcessTest):
    STUCK = """
async def child(job):
    print("inside")
    open(job.destination["gate"]).read()
@waybill.sender("x")
async def send(job, host):
    if job.payload == "child":
        await asyncio.gather(child(job))
    elif job.payload == "late":
        await host.fetch("GET", "https://api.test")
        await child(job)
    elif job.payload == "now":
        await child(job)
    return waybill.accepted()
"""

    def test_it_names_the_call_whose_code_runs(self):  # I4
        process = self.start(self.STUCK)
        before = time.monotonic_ns()
        for number, payload in ((41, "now"), (42, "child"), (43, "late")):
            gate = self.gate()
            process.begin(number, payload=json.dumps(payload), destination={"gate": gate})
            if payload == "late":
                _, request, _ = process.expect_fetch()
                self.assertEqual(process.inside[1], 0)
                process.say(frame(Kind.RESPONSE, *response_fields(request)))
            self.assertEqual(process.line(), "inside")
            call, since = process.inside
            self.assertEqual(call, number)
            self.assertTrue(before <= since <= time.monotonic_ns())
            release(gate)
            self.assertEqual(process.completed()[0], number)
            self.assertEqual(process.inside[1], 0)

    def test_it_counts_the_begins_that_were_taken_up_and_no_others(self):  # I4
        process, gate = self.start(self.STUCK), self.gate()
        process.say(frame(Kind.BEGIN, *job_fields(1)),
                    frame(Kind.BEGIN, *job_fields(2, payload='"now"', destination={"gate": gate})),
                    frame(Kind.BEGIN, *job_fields(3)))
        self.assertEqual(process.line(), "inside")
        self.assertEqual(process.taken_up, 2)
        release(gate)
        self.assertEqual([process.completed()[0] for _ in range(3)], [1, 2, 3])
        self.assertEqual(process.taken_up, 3)

    def test_a_check_is_of_no_call(self):  # I4
        gate = self.gate()
        process = PluginProcess(self, ACCEPTS + f"""
@waybill.check_settings("x")
def check(settings):
    print("inside")
    open({gate!r}).read()
""")
        process.greet()
        process.say(frame(Kind.CHECK, U32.pack(1), text("x"), text("{}")))
        self.assertEqual(process.line(), "inside")
        self.assertEqual((process.inside[0], process.inside[1] > 0), (0, True))
        release(gate)
        process.expect(Kind.CHECKED)
        self.assertEqual(process.inside[1], 0)


class Blocking(ProcessTest):
    def test_a_plain_function_may_wait_and_asks_without_await(self):  # I4
        process = self.start("""
@waybill.sender("x")
def send(job, host):
    host.sleep(1)
    answer = host.fetch("POST", job.destination["url"], json=job.payload)
    return waybill.judge(answer, "refused")
""", BLOCKING)
        process.begin(1, destination=URL, payload={"a": 1})
        _, timer, _ = process.expect_timer()
        process.say(frame(Kind.FIRE, U64.pack(timer)))
        _, request, _ = process.expect_fetch()
        process.say(frame(Kind.RESPONSE, *response_fields(request, 503)))
        outcome = process.completed()[1]
        self.assertEqual((outcome.reason, outcome.scope), ("server_error", "whole_target"))

    def test_the_page_says_when_its_code_runs(self):  # I4
        process, gate = self.start("""
@waybill.sender("x")
def send(job, host):
    host.fetch("GET", "https://api.test")
    print("inside")
    open(job.destination["gate"]).read()
    return waybill.accepted()
""", BLOCKING), self.gate()
        process.begin(9, destination={"gate": gate})
        _, request, _ = process.expect_fetch()
        self.assertEqual((process.inside[1], process.taken_up), (0, 1))
        process.say(frame(Kind.RESPONSE, *response_fields(request)))
        self.assertEqual(process.line(), "inside")
        self.assertEqual((process.inside[0], process.inside[1] > 0), (9, True))
        release(gate)
        process.completed()
        self.assertEqual(process.inside[1], 0)

    def test_a_cancel_ends_what_it_waits_for(self):  # I4
        process = self.start("""
@waybill.sender("x")
def send(job, host):
    try:
        host.sleep(3600)
    except waybill.Cancelled:
        return waybill.transient("gave_up", result=host.is_cancelled)
""", BLOCKING)
        process.begin(1)
        process.expect_timer()
        process.say(frame(Kind.CANCEL, U64.pack(1)))
        process.expect(Kind.CANCEL_TIMER)
        outcome = process.completed()[1]
        self.assertEqual((outcome.reason, outcome.result), ("gave_up", True))

    def test_an_end_does_so_for_good(self):  # I4
        process = self.start("""
@waybill.sender("x")
def send(job, host):
    try:
        host.fetch("GET", "https://api.test") if job.attempt == 1 else host.sleep(3600) if job.attempt == 2 else None
    except waybill.Ended:
        print("ended")
    return waybill.accepted()
""", BLOCKING)
        for number, asked in ((1, Kind.FETCH), (2, Kind.TIMER)):
            process.begin(number, attempt=number)
            process.expect(asked)
            process.say(frame(Kind.END, U64.pack(number)))
            self.assertEqual(process.line(), "ended")
        process.begin(3, attempt=3)
        self.assertEqual(process.completed()[0], 3)

    def test_an_exception_may_have_sent_something_itself(self):  # I4
        process = self.start('@waybill.sender("x")\ndef send(job, host):\n    raise StopIteration\n', BLOCKING)
        process.begin(1)
        outcome = process.completed()[1]
        self.assertEqual((outcome.reason, outcome.reach, outcome.detail),
                         ("plugin_error", "maybe_sent", "RuntimeError: it raised StopIteration"))

    def test_calls_follow_each_other(self):  # I4
        process, gate = self.start("""
@waybill.sender("x")
def send(job, host):
    print("inside", job.idempotency_key)
    open(job.destination["gate"]).read()
    return waybill.accepted()
""", BLOCKING), self.gate()
        process.begin(1, destination={"gate": gate})
        process.begin(2, destination={"gate": "/dev/null"})
        self.assertEqual(process.line(), "inside key-1")
        self.assertEqual(process.taken_up, 1)
        release(gate)
        self.assertEqual([process.completed()[0] for _ in range(2)], [1, 2])


class Asking(ProcessTest):
    def test_questions_carry_the_call_and_their_answers_come_back(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    said = [len(host.sign("key", "a", b"b")), host.signature("ecdsa_p256_sha256", "pem", "c").decode(), host.secret("name"),
            host.render("contact", {"n": 1}), host.render_text("hi {{n}}", {"n": 1}), host.link("gs://b/k", 60),
            host.has_oauth2_client("crm"), host.forget_oauth2_token("crm")]
    return waybill.accepted(result=said)
""")
        process.begin(8)
        asked = []
        for status, values in ((0, [b"m" * 32, b"n" * 32]), (0, [b"s"]), (0, ["v", "w"]), (0, ["subject", "S", "text", "T"]),
                               (0, ["text", "hi 1"]), (0, ["https://signed"]), (1, []), (0, [])):
            process.answer_question(lambda kind, body: asked.append((kind, body)) or (status, values))
        self.assertEqual(asked, [
            (Kind.SIGN, U64.pack(8) + text("key") + waybill.text_list(["a", "b"])),
            (Kind.SIGNATURE, U64.pack(8) + I32.pack(2) + text("pem") + waybill.text_list(["c"])),
            (Kind.SECRET, U64.pack(8) + text("name")), (Kind.RENDER, text("contact") + text('{"n":1}')),
            (Kind.RENDER_TEXT, text("hi {{n}}") + text('{"n":1}')), (Kind.LINK, text("gs://b/k") + waybill.I64.pack(60)),
            (Kind.FIND_CLIENT, text("crm")), (Kind.FORGET_TOKEN, text("crm"))])
        self.assertEqual(process.completed()[1].result,
                         [2, "s", ["v", "w"], {"subject": "S", "text": "T"}, "hi 1", "https://signed", False, None])

    def test_a_no_of_the_host_is_an_exception_with_a_word(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    said = []
    for ask in (lambda: host.sign("k", "a"), lambda: host.signature("rsa_sha256", "k", "a"), lambda: host.secret("k"),
                lambda: host.render("t", {}), lambda: host.link("gs://b", 1), lambda: host.secret("k")):
        try:
            ask()
        except waybill.HostError as error:
            said.append(error.word)
    return waybill.accepted(result=said)
""")
        process.begin(1)
        for status in (1, 2, 2, 2, 1, -1):
            process.answer_question(lambda kind, body: (status, ()))
        self.assertEqual(process.completed()[1].result,
                         ["unknown", "wrong_key", "not_allowed", "malformed", "unavailable", "no_answer"])

    def test_threads_ask_at_the_same_time_and_each_gets_its_own_answer(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    said = await asyncio.gather(*(asyncio.to_thread(host.sign, "key", str(n)) for n in range(50)))
    return waybill.accepted(result=[one[0].decode() for one in said])
""")
        process.begin(1)
        for _ in range(50):
            process.answer_question(lambda kind, body: (0, [b"of " + read_texts(body, 8 + 4 + 3 + 4, 1)[0][0]]))
        self.assertEqual(process.completed()[1].result, [f"of {n}" for n in range(50)])

    def test_a_thread_may_log_while_the_loop_sleeps(self):  # I4
        process, gate = self.start("""
def work(job, host):
    open(job.destination["gate"]).read()
    host.log("from a thread")
@waybill.sender("x")
async def send(job, host):
    threading.Thread(target=work, args=(job, host)).start()
    await host.fetch("GET", "https://api.test")
    return waybill.accepted()
"""), self.gate()
        process.begin(1, destination={"gate": gate})
        process.expect_fetch()
        process.settle()
        process.expect(Kind.SETTLED)
        release(gate)
        self.assertIn(text("from a thread"), process.expect(Kind.LOG))


class Writing(ProcessTest):
    def test_big_bodies_go_both_ways_while_neither_side_reads_first(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    answer = await host.fetch("POST", "https://api.test", body=job.payload_bytes, max_response_bytes=1 << 21)
    return waybill.accepted(answer, result=len(answer.body))
""")
        calls, payload = range(1, 33), b"p" * (1 << 20)
        process.say(*(frame(Kind.BEGIN, *job_fields(number, payload=payload)) for number in calls))
        asked = [process.expect_fetch() for _ in calls]
        self.assertTrue(all(payload in fields for _, _, fields in asked))
        process.say(*(frame(Kind.RESPONSE, *response_fields(request, body=payload)) for _, request, _ in asked))
        self.assertEqual({process.completed()[1].result for _ in calls}, {len(payload)})

    def test_what_the_host_did_not_read_leaves_when_it_reads(self):  # I4
        process = self.start("""
waybill.Stream._flush_what_waits = lambda self: None
@waybill.sender("x")
async def send(job, host):
    await host.fetch("POST", "https://api.test", body=bytes(8 << 20))
""")
        process.begin(1)
        self.assertIn(bytes(8 << 20), process.expect_fetch()[2])

    def test_the_longest_body_fits(self):  # I4
        process = self.start(FETCHES)
        payload = b"p" * ((64 << 20) - 1000)
        process.begin(1, destination=URL, payload=payload)
        self.assertIn(payload, process.expect_fetch()[2])

    def test_a_longer_one_is_an_error_in_the_sender(self):  # I4
        process = self.start('@waybill.sender("x")\nasync def send(job, host):\n'
                             '    await host.fetch("POST", "https://api.test", body=bytes(1 << 26))\n')
        process.begin(1)
        self.assertEqual(process.completed()[1].detail, "ValueError: a request has 64 MiB at most")

    def test_what_others_said_leaves_while_a_call_spins(self):  # I4
        process = self.start("""
@waybill.sender("x")
async def send(job, host):
    while job.payload == "spin" and not os.path.exists(job.destination["flag"]):
        pass
    return waybill.accepted()
""")
        flag = process.folder / "flag"
        process.say(frame(Kind.BEGIN, *job_fields(1)),
                    frame(Kind.BEGIN, *job_fields(2, payload='"spin"', destination={"flag": str(flag)})))
        self.assertEqual(process.completed()[0], 1)
        self.assertEqual(process.inside[0], 2)
        flag.touch()
        self.assertEqual(process.completed()[0], 2)

    def test_so_it_does_after_a_long_silence(self):  # I4
        process = self.start("""
waybill.Stream.QUIET_ROUNDS = 0
@waybill.sender("x")
async def send(job, host):
    host.log("it is heard")
    while not os.path.exists(job.destination["flag"]):
        pass
    return waybill.accepted()
""")
        flag = process.folder / "flag"
        process.begin(1, destination={"flag": str(flag)})
        process.expect(Kind.LOG)
        flag.touch()
        self.assertEqual(process.completed()[0], 1)


class Network(unittest.TestCase):
    def test_whether_a_plugin_may_have_sent_something_itself_is_tried_out(self):  # I4
        for error, answer in ((PermissionError(13, "no"), False), (OSError(24, "too many"), True), (None, True)):
            with unittest.mock.patch.object(socket, "socket", side_effect=error):
                self.assertEqual(waybill.has_network(), answer, error)


if __name__ == "__main__":
    unittest.main()
