"""The fake host for plugins' unit tests: what it scripts, what it saw, its clock, and what it complains of."""
import asyncio
import json
import tempfile
import threading
import time
import unittest

import host_side  # noqa: F401
import waybill_plugin as waybill
from waybill_testing import FakeHost

ACTIONS = [{"type": "x", "reasons": ["refused"]}, {"type": "y", "reasons": ["refused"]}, {"type": "b", "blocking": True}]


class FakeHostTest(unittest.TestCase):
    def host(self, send=None, *, actions=ACTIONS, action_type="x", roles=None, **more):
        """A fake host with a plugin of these functions; the other action types have one that accepts."""
        async def accepts(job, host):
            return waybill.accepted()

        def blocks(job, host):
            return waybill.accepted()
        plugin = waybill.Plugin()
        for action in actions:
            plugin.take("sender", action["type"])(blocks if action.get("blocking") else accepts)
        if send:
            plugin.functions[action_type, "sender"] = send
        for role, function in (roles or {}).items():
            plugin.take(role, "x")(function)
        return FakeHost(plugin=plugin, plugin_json=self.plugin_json(actions), **more)

    def plugin_json(self, actions):
        file = tempfile.NamedTemporaryFile("w", suffix=".json")
        self.addCleanup(file.close)
        json.dump({"actions": actions}, file)
        file.flush()
        return file.name

    def complains(self, words, host, action_type="x", **job):
        with self.assertRaisesRegex(AssertionError, words):
            host.send(action_type, **job)


async def fetches(job, host):
    answer = await host.fetch("POST", job.destination["url"], json=job.payload, headers={"Key": job.idempotency_key})
    return waybill.judge(answer, "refused")


async def sleeps(job, host):
    await host.sleep(3600)


class Scripting(FakeHostTest):
    def test_answers_come_in_order_and_requests_are_kept(self):  # I4
        host = self.host(fetches)
        host.answer(201, json={"id": 7}, headers={"X-Id": "7"}, retry_after=3)
        host.answer(503, headers={"Retry-After": "9"})
        to = {"destination": {"url": "https://a.test"}, "idempotency_key": "k"}
        first, second = host.send("x", payload={"t": 1}, **to), host.send("x", payload={"t": 2}, **to)
        self.assertEqual((first.verdict, second.verdict, second.retry_after), ("accepted", "transient", 9))
        request = host.requests[1]
        self.assertEqual((request.method, request.url, request.json(), request.headers["KEY"]),
                         ("POST", "https://a.test", {"t": 2}, "k"))
        self.assertEqual(request.headers["content-type"], "application/json")

    def test_an_answer_may_be_for_one_url_or_a_function_of_the_request(self):  # I4
        host = self.host(fetches)
        host.answer(400)
        host.answer(lambda request: {"status": 200 + request.json()}, url="https://b.test")
        self.assertEqual(host.send("x", destination={"url": "https://b.test"}, payload=2).code, 202)
        self.assertEqual(host.send("x", destination={"url": "https://a.test"}).code, 400)

    def test_errors_have_the_reach_that_a_host_would_see(self):  # I4
        host = self.host(fetches)
        for error, reach in (("connect", "not_sent"), ("refused", "not_sent"), ("timeout", "maybe_sent"), ("broken", "maybe_sent")):
            host.answer(error=error)
            self.assertEqual(host.send("x", destination={"url": "https://a.test"}).reach, reach)
        host.answer(error="timeout", reach="not_sent")
        self.assertEqual(host.send("x", destination={"url": "https://a.test"}).reach, "not_sent")

    def test_a_misspelt_word_of_an_answer_is_an_error(self):  # I4
        with self.assertRaises(TypeError):
            self.host().answer(stats=200)

    def test_an_exception_reached_as_far_as_what_was_asked_before(self):  # I4
        async def send(job, host):
            if job.payload:
                await host.fetch("GET", "https://a.test")
            raise ValueError("no")
        host = self.host(send)
        host.answer()
        self.assertEqual([host.send("x", payload=payload).reach for payload in (False, True)], ["not_sent", "maybe_sent"])

    def test_a_body_is_cut_as_a_host_cuts_it(self):  # I4
        async def send(job, host):
            answers = [await host.fetch("GET", "https://a.test", max_response_bytes=most) for most in (0, 5000)]
            return waybill.accepted(result=[[len(one.body), one.is_truncated] for one in answers])
        host = self.host(send)
        host.answer(body=b"b" * 5000)
        host.answer(body=b"b" * 5000)
        self.assertEqual(host.send("x").result, [[4096, True], [5000, False]])

    def test_secrets_are_filled_in_and_never_seen(self):  # I4
        async def send(job, host):
            answer = await host.fetch("POST", "https://a.test/{secret:key}", headers={"Authorization": "Bearer {oauth2:crm}"},
                                      body=['{"key":"', waybill.Secret("odd", "json"), '"}'])
            return waybill.judge(answer, "refused")
        host = self.host(send, secrets={"key": ["new", "old"], "odd": 'a"b'}, oauth2_clients=["crm"])
        host.answer()
        self.assertEqual(host.send("x").verdict, "accepted")
        request = host.requests[0]
        self.assertEqual((request.filled_url, request.filled_body), ("https://a.test/new", b'{"key":"a\\"b"}'))
        self.assertEqual(request.filled_headers["authorization"], "Bearer token of crm")
        self.assertEqual(request.headers["authorization"], "Bearer {oauth2:crm}")

    def test_a_host_refuses_secrets_that_it_does_not_have_or_in_clear(self):  # I4
        async def send(job, host):
            answer = await host.fetch("GET", job.destination["url"], headers={"A": job.payload})
            return waybill.judge(answer, "refused")
        host = self.host(send, secrets={"key": "value"})
        for url, value, why in (("https://a.test", "{secret:no}", "this host has no secret 'no'"),
                                ("https://a.test", "{oauth2:no}", "a header names the OAuth2 client 'no'"),
                                ("http://a.test", "{secret:key}", "a secret needs https")):
            outcome = host.send("x", destination={"url": url}, payload=value)
            self.assertEqual((outcome.reason, outcome.reach), ("refused_by_host", "not_sent"))
            self.assertIn(why, outcome.detail)
            self.assertIsNone(host.requests[-1].filled_url)

    def test_a_mail_and_its_reply(self):  # I4
        async def send(job, host):
            reply = await host.submit("smtp://relay", "a@b", ["c@d", "e@f"], "Subject: x\r\n\r\n", user="u", password="key")
            return waybill.judge(reply, "refused")
        host = self.host(send, secrets={"key": "value"})
        host.mail_answer(recipients={"c@d": (550, "5.1.1 unknown")})
        host.mail_answer()
        host.mail_answer(recipients={"c@d": (550, "no"), "e@f": (550, "no")})
        host.mail_answer(error="connect")
        self.assertEqual([host.send("x").reason for _ in range(4)], ["refused", "", "refused", "connect_failed"])
        mail = host.mails[0]
        self.assertEqual((mail.recipients, mail.password, mail.tls), (["c@d", "e@f"], "key", "if_offered"))

    def test_questions_are_answered(self):  # I4
        async def send(job, host):
            said = [host.sign("key", "a")[0].hex()[:8], len(host.sign("key", "a")), host.secret("key"), host.render("t", {"n": 1}),
                    host.render_text("hi", {}), host.link("gs://b/k", 60), host.has_oauth2_client("crm"), host.unix_seconds()]
            for ask in (lambda: host.sign("no", "a"), lambda: host.secret("hidden"), lambda: host.render("no", {})):
                try:
                    ask()
                except waybill.HostError as error:
                    said.append(error.word)
            host.log("said", parts=2)
            host.count("parts", 2)
            return waybill.transient("later", result=[str(one) for one in said])
        host = self.host(send, secrets={"key": ["vvvv1", "vvvv2"], "hidden": "hhhh"}, readable_secrets=["key"],
                         templates={"t": {"text": "T"}}, oauth2_clients=["crm"])
        with self.assertRaisesRegex(AssertionError, "an outcome gives the secret 'key' away"):
            host.send("x")
        self.assertEqual((host.logs[0].text, host.logs[0].level, host.logs[0].fields), ("said", "info", {"parts": "2"}))
        self.assertEqual((host.counts["parts"], host.renderings[0]), (2, ("t", {"n": 1})))

    def test_abilities_and_checks(self):  # I4
        async def compose(job, host):
            return waybill.accepted(artifact=b"made", artifact_type="text/plain")

        async def send(job, host):
            return waybill.accepted(result=[job.artifact.decode(), job.artifact_type])

        async def status(job, host):
            return waybill.deferred("under_way", detail=job.provider_ref)

        async def failures(job, host):
            yield waybill.Failure(provider_ref=job.page or "first", failed_at=job.since)
            if not job.page:
                yield waybill.NextPage("second")

        def check(settings):
            yield "/a", "missing"
        host = self.host(send, roles={"compose": compose, "status": status, "failures": failures, "check_settings": check})
        self.assertEqual(host.send("x").result, ["made", "text/plain"])
        self.assertEqual(host.compose("x").artifact, b"made")
        self.assertEqual(host.status("x", provider_ref="r").detail, "r")
        found, outcome = host.failures("x", since=9)
        self.assertEqual([(one.provider_ref, one.failed_at) for one in found], [("first", 9), ("second", 9)])
        self.assertEqual(outcome.verdict, "accepted")
        self.assertEqual(host.check_settings("x", {}), [("/a", "missing")])
        self.assertEqual(host.check_destination("x", {}), [])
        with self.assertRaisesRegex(AssertionError, "the plugin has no probe for x"):
            host.probe("x")

    def test_action_types_follow_each_other(self):  # I4
        host = self.host(fetches)
        self.assertEqual(host.send("y").verdict, "accepted")
        host.answer(404)
        self.assertEqual(host.send("x", destination={"url": "https://a.test"}).verdict, "rejected")


class Time(FakeHostTest):
    def test_it_passes_only_where_something_waits(self):  # I4
        async def send(job, host):
            await asyncio.gather(host.sleep(3600), asyncio.sleep(7200))
            return waybill.accepted(result=host.unix_seconds())
        host, begun = self.host(send, unix_seconds=1000), time.monotonic()
        self.assertEqual(host.send("x", deadline=10_000).result, 1000 + 7200)
        self.assertEqual((host.sleeps, host.now), ([3600], 7200))
        self.assertLess(time.monotonic() - begun, 3600)

    def test_an_answer_may_take_its_time_or_never_come(self):  # I4
        host = self.host(fetches)
        host.answer(after=5)
        host.answer(silent=True)
        host.answer(after=60)
        for reason, now in (("", 5), ("timeout", 5 + 29.9), ("timeout", 5 + 2 * 29.9)):
            self.assertEqual(host.send("x", destination={"url": "https://a.test"}).reason, reason)
            self.assertAlmostEqual(host.now, now)

    def test_a_cancel_comes_when_the_test_says(self):  # I4
        host = self.host(fetches)
        host.answer(silent=True)
        outcome = host.send("x", destination={"url": "https://a.test"}, cancel_after=2)
        self.assertEqual((outcome.reason, outcome.reach, host.now), ("cancelled", "maybe_sent", 2))
        self.assertTrue(host.requests[0].is_aborted)

    def test_a_call_that_does_not_heed_it_is_ended(self):  # I4
        async def send(job, host):
            await asyncio.Event().wait()
        host = self.host(send)
        outcome = host.send("x", cancel_after=2)
        self.assertEqual((outcome.reason, outcome.reach, host.now, host.sleeps), ("cancelled", "not_sent", 2.5, []))

    def test_the_deadline_is_a_cancel(self):  # I4
        host = self.host(sleeps)
        self.assertEqual((host.send("x").reason, host.now), ("cancelled", 30))

    def test_a_blocking_sender_waits_on_the_same_clock(self):  # I4
        def send(job, host):
            host.sleep(5)
            return waybill.judge(host.fetch("GET", "https://a.test"), "refused")
        host = self.host(send, action_type="b")
        host.answer(204)
        self.assertEqual((host.send("b").code, host.now), (204, 5))

    def test_a_thread_that_does_not_come_back_is_told(self):  # I4
        gate = threading.Event()
        self.addCleanup(gate.set)

        def send(job, host):
            gate.wait()
        self.complains("a thread of the plugin has worked for 0.01 seconds", self.host(send, action_type="b", patience=0.01), "b")


class Complaining(FakeHostTest):
    def test_of_outcomes_that_no_host_takes(self):  # I4
        for outcome, words in ((waybill.rejected("unknown"), "rejected with the reason 'unknown', which plugin.json does not list"),
                               (waybill.transient("Try later"), "the reason 'Try later' is no word"),
                               (waybill.transient(""), "the reason '' is no word"),
                               (waybill.accepted(provider_ref="a\nb"), "more than one line"),
                               (waybill.accepted(artifact=b"a"), "an artifact in an outcome that is not of an accepted compose"),
                               (waybill.accepted(detail="it was s3cret"), "an outcome gives the secret 'key' away")):
            async def send(job, host, outcome=outcome):
                return outcome
            self.complains(words, self.host(send, secrets={"key": "s3cret"}))

    def test_of_a_compose_without_an_artifact(self):  # I4
        async def compose(job, host):
            return waybill.accepted()
        self.complains("an accepted compose has an artifact", self.host(roles={"compose": compose}))

    def test_of_a_request_or_a_mail_without_a_script(self):  # I4
        async def mails(job, host):
            await host.submit("smtp://relay", "a@b", ["c@d"], "Subject: x\r\n\r\n")
        self.complains("no answer is scripted for POST https://a.test", self.host(fetches), destination={"url": "https://a.test"})
        self.complains("no answer is scripted for a mail to c@d", self.host(mails))

    def test_of_a_mail_with_bare_line_ends(self):  # I4
        async def send(job, host):
            return waybill.judge(await host.submit("smtp://relay", "a@b", ["c@d"], "Subject: x\n\n"), "refused")
        host = self.host(send)
        host.mail_answer()
        self.complains("line ends that are not CRLF", host)

    def test_of_a_secret_in_the_log(self):  # I4
        async def send(job, host):
            host.log("it is", key="s3cret")
            return waybill.accepted()
        self.complains("a log event gives the secret 'key' away", self.host(send, secrets={"key": "s3cret"}))

    def test_of_a_check_that_says_something_else_each_time(self):  # I4
        said = []

        def check(settings):
            said.append("more")
            yield "", " ".join(said)
        with self.assertRaisesRegex(AssertionError, "the same of the same value"):
            self.host(roles={"check_settings": check}).check_settings("x", {})

    def test_of_functions_that_do_not_fit_plugin_json(self):  # I4
        with self.assertRaisesRegex(AssertionError, "no function sends it"):
            FakeHost(plugin=waybill.Plugin(), plugin_json=self.plugin_json(ACTIONS))

    def test_of_a_plugin_json_that_is_not_there(self):  # I4
        with self.assertRaisesRegex(AssertionError, "plugin.json cannot be read"):
            FakeHost(plugin=waybill.Plugin())

    def test_and_works_on_after_a_complaint(self):  # I4
        host = self.host(fetches)
        self.complains("no answer is scripted", host, destination={"url": "https://a.test"})
        host.answer(204)
        self.assertEqual(host.send("x", destination={"url": "https://a.test"}).verdict, "accepted")


if __name__ == "__main__":
    unittest.main()
