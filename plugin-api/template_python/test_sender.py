"""The plugin my_destination on a fake host: what it sends, and what it makes of every answer."""
import unittest

import sender  # noqa: F401  its decorators say what the plugin has
from waybill_testing import FakeHost


class MyDestination(unittest.TestCase):
    def setUp(self):
        self.host = FakeHost()

    def attempt(self, host=None, **job):
        given = {"destination": {"url": "https://api.test/messages", "channel": "ops"}, "payload": b'{"text": "Hello"}', **job}
        return (host or self.host).send("my_destination", **given)

    def attempt_with(self, status, **answer):
        self.host.answer(status, **answer)
        return self.attempt(idempotency_key="order-4711")

    def test_it_posts_the_payload_as_it_is(self):
        self.assertEqual(self.attempt_with(202).verdict, "accepted")
        request = self.host.requests[0]
        self.assertEqual((request.method, request.url), ("POST", "https://api.test/messages"))
        self.assertEqual(request.headers["Content-Type"], "application/json")
        self.assertEqual(request.headers["X-Channel"], "ops")
        self.assertEqual(request.body, b'{"text": "Hello"}')

    def test_it_needs_no_channel(self):
        self.host.answer(200)
        self.assertEqual(self.attempt(destination={"url": "https://api.test/messages"}).verdict, "accepted")
        self.assertNotIn("X-Channel", self.host.requests[0].headers)

    def test_every_attempt_has_the_same_idempotency_key(self):
        self.attempt_with(503)
        self.attempt_with(200)
        self.assertEqual([request.headers["Idempotency-Key"] for request in self.host.requests], ["order-4711"] * 2)

    def test_every_success_is_accepted(self):
        for status in (200, 201, 202, 204):
            outcome = self.attempt_with(status)
            self.assertEqual((outcome.verdict, outcome.code), ("accepted", status))

    def test_a_busy_receiver_is_tried_again_when_it_says(self):
        for status in (408, 425, 429, 500, 503):
            outcome = self.attempt_with(status, retry_after=7)
            self.assertEqual((outcome.verdict, outcome.retry_after), ("transient", 7))
            self.assertEqual(outcome.scope, "whole_target" if status in (429, 503) else "this_job")

    def test_refused_credentials_rest_the_whole_target(self):
        for status in (401, 403):
            outcome = self.attempt_with(status)
            self.assertEqual((outcome.verdict, outcome.scope), ("transient", "whole_target"))

    def test_anything_else_that_the_receiver_refuses_is_rejected(self):
        for status, reason in ((400, "invalid_request"), (404, "not_found"), (422, "invalid_request")):
            outcome = self.attempt_with(status)
            self.assertEqual((outcome.verdict, outcome.reason, outcome.reach), ("rejected", reason, "answered"))

    def test_a_redirect_is_not_followed(self):
        self.assertEqual(self.attempt_with(302).verdict, "transient")

    def test_a_network_error_is_transient_and_reached_as_far_as_the_host_saw(self):
        for error, reach in (("connect", "not_sent"), ("broken", "maybe_sent")):
            outcome = self.attempt_with(0, error=error)
            self.assertEqual((outcome.verdict, outcome.reach), ("transient", reach))

    def test_the_operator_sets_the_timeout(self):
        host = FakeHost(settings={"timeout_ms": 250})
        host.answer(silent=True)
        self.assertEqual((self.attempt(host).reason, host.now), ("timeout", 0.25))

    def test_a_cancelled_call_ends(self):
        self.host.answer(silent=True)
        outcome = self.attempt(cancel_after=1)
        self.assertEqual((outcome.verdict, outcome.reason, self.host.now), ("transient", "cancelled", 1))
        self.assertTrue(self.host.requests[0].is_aborted)


if __name__ == "__main__":
    unittest.main()
