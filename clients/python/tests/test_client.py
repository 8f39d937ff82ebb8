"""The client against a server that misbehaves.  Q8"""
import datetime
import pathlib
import ssl
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from email.utils import format_datetime
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
import waybill
from misbehaving import Answer, Misbehaving
from waybill import _transport, errors

PATIENT = {"timeout": 300.0, "time_limit": 3000.0}  # on a machine that is ten times slower


def problem(status, code="unavailable", message="not now", headers=(), **more):
    return Answer(status, {"error": {"code": code, "message": message, **more}}, headers)


class Pauses(list):
    """Stands for time.sleep: notes how long it was to be, and lets the clock go on by that."""

    def __init__(self, test):
        super().__init__()
        self.ahead, self.real = 0.0, _transport.time.monotonic
        for module in (_transport, sys.modules["waybill.client"]):
            patched = mock.patch.object(module, "time", mock.Mock(sleep=self.sleep, monotonic=self.monotonic, time=_transport.time.time))
            patched.start()
            test.addCleanup(patched.stop)

    def sleep(self, seconds):
        self.append(seconds)
        self.ahead += seconds

    def monotonic(self):
        return self.real() + self.ahead


class World(unittest.TestCase):
    def server(self, *script, **more):
        server = Misbehaving(*script, **more)
        server.__enter__()
        self.addCleanup(server.__exit__)
        return server

    def client(self, server, **more):
        client = waybill.Client(server.url, "the-token", **{**PATIENT, **more})
        self.addCleanup(client.close)
        return client


class Requests(World):
    def test_an_intent_is_sent_with_its_options(self):
        server = self.server()
        intent = self.client(server).submit(
            "orders", {"name": "Zoë"}, intent_id="o-1", wait_seconds=5,
            not_before=datetime.datetime(2030, 1, 2, 3, 4, 5, tzinfo=datetime.timezone(datetime.timedelta(hours=2))), expires_at="2030-01-03T00:00:00Z", ordering_key="customer-7", traceparent="00-a", tracestate="b=c")
        self.assertEqual(intent["intentId"], "o-1")
        (request,) = server.requests()
        self.assertEqual((request.method, request.target), ("POST", "/v1/intents?waitSeconds=5"))
        self.assertEqual(request.json(), {"intentId": "o-1", "submissionTarget": "orders", "payload": {"name": "Zoë"},
                                          "notBefore": "2030-01-02T01:04:05Z", "expiresAt": "2030-01-03T00:00:00Z", "orderingKey": "customer-7"})
        self.assertIn("Zoë".encode(), request.body)
        wanted = {"authorization": "Bearer the-token", "content-type": "application/json", "traceparent": "00-a", "tracestate": "b=c",
                  "user-agent": "waybill-python/" + waybill.__version__}
        self.assertEqual({name: request.headers.get(name) for name in wanted}, wanted)

    def test_what_is_not_given_is_not_sent(self):
        server = self.server()
        self.client(server).submit("orders")
        (request,) = server.requests()
        self.assertEqual(set(request.json()), {"intentId", "submissionTarget"})
        self.assertEqual(request.target, "/v1/intents")
        self.assertNotIn("traceparent", request.headers)

    def test_ids_are_made_and_differ(self):
        server = self.server()
        client = self.client(server)
        ids = [client.submit("orders")["intentId"] for _ in range(2)]
        self.assertEqual([request.json()["intentId"] for request in server.requests()], ids)
        self.assertEqual(len({*ids}), 2)
        self.assertEqual(len(ids[0]), 36)

    def test_ids_are_escaped_in_paths(self):
        server = self.server()
        client = self.client(server)
        client.get("a/b ?ü")
        client.history("..")
        client.cancel("a/b", reason="ordered twice")
        client.reschedule("a/b", "2030-01-01T00:00:00Z")
        requests = server.requests()
        self.assertEqual([(request.method, request.target) for request in requests],
                         [("GET", "/v1/intents/a%2Fb%20%3F%C3%BC"), ("GET", "/v1/intents/../history"), ("POST", "/v1/intents/a%2Fb/cancel"),
                          ("PATCH", "/v1/intents/a%2Fb")])
        self.assertEqual(requests[2].json(), {"reason": "ordered twice"})
        self.assertEqual(requests[3].json(), {"notBefore": "2030-01-01T00:00:00Z"})

    def test_events_forms_and_jobs_go_to_their_routes(self):
        server = self.server()
        client = self.client(server, organisation="acme")
        client.publish("rule-1", [1], event_id="e", suppress_delivery=True, ordering_key="k")
        client.submit_form("contact", {"name": "Ada"}, submission_id="f", finalize=True, retention_expires_at="2030-01-01T00:00:00Z")
        client.finalize("f")
        client.submit_job("parcels", None, submission_id="j", metadata={"reference": "r"}, not_before="2030-01-01T00:00:00Z")
        client.post_form({"a": 1}, submission_id="p")
        client.get_submission("j")
        self.assertEqual([(request.method, request.target, request.body and request.json()) for request in server.requests()], [
            ("POST", "/orgs/acme/alert-rules/rule-1/events", {"eventId": "e", "suppressDelivery": True, "orderingKey": "k", "snapshot": [1]}),
            ("POST", "/v1/submissions", {"submissionId": "f", "formId": "contact", "fields": {"name": "Ada"}, "finalize": True,
                                         "retentionExpiresAt": "2030-01-01T00:00:00Z"}),
            ("POST", "/v1/submissions/f/finalize", {}),
            ("POST", "/v1/pipelines/parcels/submissions", {"submissionId": "j", "metadata": {"reference": "r"}, "notBefore": "2030-01-01T00:00:00Z",
                                                           "payload": None}),
            ("POST", "/forms", {"submissionId": "p", "answers": {"a": 1}}),
            ("GET", "/v1/submissions/j", b"")])

    def test_a_prefix_of_the_url_is_kept(self):
        server = self.server()
        with waybill.Client(server.url + "/waybill/", **PATIENT) as client:
            client.get("x")
        (request,) = server.requests()
        self.assertEqual(request.target, "/waybill/v1/intents/x")
        self.assertNotIn("authorization", request.headers)

    def test_mistakes_of_the_caller_are_said_before_anything_is_sent(self):
        server = self.server()
        client = self.client(server)
        for mistake in (lambda: client.submit("orders", float("nan")), lambda: client.submit("orders", not_before=datetime.datetime(2030, 1, 1)),
                        lambda: client.submit("orders", {"text": "\ud800"}), lambda: waybill.Client("localhost:8080"),
                        lambda: waybill.Client("http://user@localhost"), lambda: waybill.Client("http://localhost", timeout=0)):
            with self.assertRaises(ValueError):
                mistake()
        self.assertEqual(server.requests(), [])


class Lists(World):
    def test_pages_are_fetched_one_after_another_also_behind_an_empty_one(self):
        page = lambda ids, next_: Answer(200, {"items": [{"intentId": id_} for id_ in ids], "next": next_})
        server = self.server(page(["a", "b"], "c 1"), page([], "c2"), page(["c"], None))
        found = self.client(server).list(target="orders", status="accepted", since=datetime.datetime(2030, 1, 1, tzinfo=datetime.timezone.utc),
                                         page_size=2)
        self.assertEqual(server.requests(), [])
        self.assertEqual(next(found)["intentId"], "a")
        self.assertEqual(len(server.requests()), 1)
        self.assertEqual([intent["intentId"] for intent in found], ["b", "c"])
        query = "/v1/intents?target=orders&status=accepted&since=2030-01-01T00%3A00%3A00Z&limit=2"
        self.assertEqual([request.target for request in server.requests()], [query, query + "&cursor=c+1", query + "&cursor=c2"])

    def test_submissions_have_filters_of_their_own(self):
        server = self.server(Answer(200, {"items": [], "next": None}))
        self.assertEqual(list(self.client(server).list_submissions(pipeline="parcels", state="DONE", reference="r")), [])
        self.assertEqual(server.requests()[0].target, "/v1/submissions?pipeline=parcels&state=DONE&reference=r")

    def test_cancelling_by_filter_goes_on_until_all_is_done(self):
        server = self.server(Answer(200, {"count": 10, "dryRun": False, "next": "c"}), Answer(200, {"count": 5, "dryRun": False}))
        self.assertEqual(self.client(server).cancel_all("orders", older_than_seconds=60, reason="moved"), 15)
        first = {"target": "orders", "olderThanSeconds": 60, "reason": "moved", "dryRun": False}
        self.assertEqual([request.json() for request in server.requests()], [first, {**first, "cursor": "c"}])


class Repetitions(World):
    def test_the_same_bytes_are_sent_again_until_they_are_acknowledged(self):
        for trouble in ("drop", "reset", "half", "no_json", "no_http", problem(429, "rate_limited"), problem(502), problem(503), problem(504),
                        Answer(503, b"<html>")):
            with self.subTest(trouble=trouble):
                pauses = Pauses(self)
                server = self.server(trouble, trouble)
                intent = self.client(server).submit("orders", {"parcel": 1})
                bodies = {request.body for request in server.requests()}
                self.assertEqual((len(server.requests()), len(bodies), len(pauses)), (3, 1, 2))
                self.assertEqual(server.requests()[0].json()["intentId"], intent["intentId"])

    def test_pauses_grow_and_are_never_in_step(self):
        for attempt, longest in ((0, 0.2), (1, 0.4), (3, 1.6), (20, 10.0), (10**6, 10.0)):
            drawn = [_transport.pause_before(attempt, None) for _ in range(200)]
            self.assertTrue(all(longest / 2 <= pause <= longest for pause in drawn))
            self.assertGreater(len(set(drawn)), 100)

    def test_retry_after_is_honoured_in_seconds_and_as_a_date(self):
        pauses = Pauses(self)
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        server = self.server(problem(429, headers=[("Retry-After", "7")]), problem(503, headers=[("Retry-After", format_datetime(soon, usegmt=True))]),
                             problem(503, headers=[("Retry-After", "soon")]))
        self.client(server, time_limit=100_000.0).submit("orders")
        self.assertTrue(7 <= pauses[0] <= 7.2, pauses)
        self.assertTrue(3000 < pauses[1] <= 3601, pauses)
        self.assertLessEqual(pauses[2], 0.8)

    def test_no_wait_is_begun_that_would_end_behind_the_limit(self):
        pauses = Pauses(self)
        server = self.server(problem(429, "rate_limited", "slow down", [("Retry-After", "31")]))
        with self.assertRaises(errors.RateLimited) as raised:
            self.client(server, time_limit=30.0).submit("orders", intent_id="o-1")
        self.assertEqual((raised.exception.retry_after, raised.exception.id, pauses), (31.0, "o-1", []))

    def test_the_limit_ends_it_with_the_last_answer_or_loss(self):
        pauses = Pauses(self)
        server = self.server(*[problem(503)] * 1000)
        with self.assertRaises(errors.Unavailable) as raised:
            self.client(server).submit("orders", time_limit=60.0)
        self.assertEqual(raised.exception.id, server.requests()[0].json()["intentId"])
        self.assertTrue(40 <= sum(pauses) <= 60, pauses)
        server = self.server(*["drop"] * 1000)
        with self.assertRaises(errors.Unreachable) as raised:
            self.client(server, time_limit=60.0).submit("orders")
        self.assertEqual(raised.exception.id, server.requests()[0].json()["intentId"])
        self.assertIsInstance(raised.exception.__cause__, Exception)

    def test_nobody_listening_is_unreachable(self):
        Pauses(self)
        server = Misbehaving()
        server.__exit__()
        with self.assertRaises(errors.Unreachable):
            self.client(server, time_limit=5.0).get("x")

    def test_an_answer_that_drips_or_never_comes_is_given_up(self):
        for way in ("drip", "hang"):
            server = self.server(way)
            self.assertEqual(self.client(server, timeout=0.3).get("x")["intentId"], "unknown")
            self.assertGreaterEqual(len(server.requests()), 2)

    def test_the_seconds_of_a_wait_are_not_counted(self):
        pauses = Pauses(self)
        client = self.client(self.server(), time_limit=10.0, timeout=5.0)
        answers = [_transport.Answer(503, None, 20.0), _transport.Answer(200, {}, None)]
        with mock.patch.object(client._transport, "_once", side_effect=answers) as once:
            client.submit("orders", wait_seconds=60)
        self.assertEqual(once.call_count, 2)
        ends = [call.args[4] - _transport.time.monotonic() for call in once.call_args_list]
        self.assertTrue(20 <= pauses[0] <= 20.2)
        self.assertTrue(40 < ends[0] <= 65, ends)


class Refusals(World):
    def test_each_status_has_its_error_and_is_not_repeated(self):
        kinds = {400: errors.InvalidRequest, 401: errors.Unauthorized, 403: errors.Forbidden, 404: errors.NotFound, 409: errors.Conflict,
                 413: errors.TooLarge, 415: errors.ApiError, 418: errors.ApiError, 301: errors.ApiError, 500: errors.ServerError}
        for status, kind in kinds.items():
            with self.subTest(status):
                server = self.server(problem(status, "some_code", "payload.to: is missing", detail=7))
                with self.assertRaises(kind) as raised:
                    self.client(server).submit("orders", intent_id="o-1")
                error = raised.exception
                self.assertIs(type(error), kind)
                self.assertEqual((error.status, error.code, error.message, error.id), (status, "some_code", "payload.to: is missing", "o-1"))
                self.assertEqual(error.body["error"]["detail"], 7)
                self.assertIn("payload.to", str(error))
                self.assertEqual(len(server.requests()), 1)

    def test_an_answer_of_something_else_is_an_error_too(self):
        for body in (b"<html>", b"[1]", b'{"error":"text"}', b'{"error":{"code":7}}', b"\xff", b"[" * 100_000):
            with self.assertRaises(errors.NotFound):
                self.client(self.server(Answer(404, body))).get("x")

    def test_a_conflict_tells_how_the_intent_is(self):
        for body in ({"error": {"code": "under_way", "message": "m"}, "intent": {"status": "pending"}},
                     {"error": {"code": "under_way", "message": "m", "intent": {"status": "pending"}}}):
            with self.assertRaises(errors.Conflict) as raised:
                self.client(self.server(Answer(409, body))).cancel("x")
            self.assertEqual((raised.exception.code, raised.exception.intent), ("under_way", {"status": "pending"}))
        with self.assertRaises(errors.Conflict) as raised:
            self.client(self.server(problem(409))).cancel("x")
        self.assertIsNone(raised.exception.intent)

    def test_only_known_ends_are_ends(self):
        ends = [status for status in ("pending", "accepted", "rejected", "exhausted", "cancelled", "new") if waybill.has_ended({"status": status})]
        self.assertEqual(ends, ["accepted", "rejected", "exhausted", "cancelled"])


class Batches(World):
    def test_only_items_that_were_not_acknowledged_are_sent_again(self):
        Pauses(self)
        busy, bad = {"error": {"code": "unavailable", "message": "m"}}, {"error": {"code": "invalid_request", "message": "m"}}
        ok = lambda id_: {"status": 200, "intent": {"intentId": id_}}
        server = self.server("half", Answer(200, {"results": [ok("a"), {"status": 503, **busy}, {"status": 400, **bad}, {"status": 429, **busy}]}),
                             Answer(200, {"results": [ok("b"), ok("d")]}))
        outcomes = self.client(server).submit_batch({"intentId": id_, "submissionTarget": "orders"} for id_ in "abcd")
        self.assertEqual([outcome.id for outcome in outcomes], [*"abcd"])
        self.assertEqual([outcome.intent and outcome.intent["intentId"] for outcome in outcomes], ["a", "b", None, "d"])
        self.assertIsInstance(outcomes[2].error, errors.InvalidRequest)
        self.assertEqual([[item["intentId"] for item in request.json()] for request in server.requests()], [[*"abcd"], [*"abcd"], ["b", "d"]])

    def test_ids_are_made_and_kept(self):
        server = self.server("drop")
        Pauses(self)
        (outcome,) = self.client(server).submit_batch([{"submissionTarget": "orders"}])
        self.assertEqual({request.json()[0]["intentId"] for request in server.requests()}, {outcome.id})

    def test_what_is_too_much_for_one_request_is_several(self):
        server = self.server()
        client = self.client(server)
        outcomes = client.submit_batch({"submissionTarget": "orders", "payload": "x" * 300_000} for _ in range(5))
        self.assertEqual([len(request.json()) for request in server.requests()], [2, 2, 1])
        outcomes = client.submit_batch({"intentId": str(number), "submissionTarget": "orders"} for number in range(2500))
        self.assertEqual([len(request.json()) for request in server.requests()[3:]], [1000, 1000, 500])
        self.assertEqual([outcome.intent["intentId"] for outcome in outcomes], [str(number) for number in range(2500)])
        self.assertEqual(client.submit_batch([]), [])

    def test_what_fails_as_a_whole_is_the_error_of_each(self):
        server = self.server(problem(401, "unauthorized"))
        outcomes = self.client(server).submit_batch([{"submissionTarget": "orders"}] * 2)
        self.assertEqual([type(outcome.error) for outcome in outcomes], [errors.Unauthorized] * 2)

    def test_the_limit_ends_it_and_every_item_has_its_last_error(self):
        Pauses(self)
        busy = {"status": 503, "error": {"code": "unavailable", "message": "m"}}
        server = self.server(*[Answer(200, {"results": [busy]})] * 1000)
        (outcome,) = self.client(server, time_limit=60.0).submit_batch([{"intentId": "a", "submissionTarget": "orders"}])
        self.assertIsInstance(outcome.error, errors.Unavailable)
        self.assertEqual(outcome.error.id, "a")
        self.assertGreater(len(server.requests()), 3)


class Connections(World):
    def test_they_are_kept(self):
        server = self.server()
        client = self.client(server)
        for number in range(5):
            client.get(str(number))
        self.assertEqual({request.connection for request in server.requests()}, {1})
        client.close()
        client.get("again")
        self.assertEqual(server.requests()[-1].connection, 2)

    def test_one_that_the_server_closed_meanwhile_costs_no_pause(self):
        pauses = Pauses(self)
        server = self.server("close_later", "close_later")
        client = self.client(server)
        for _ in range(3):
            client.submit("orders")
        self.assertEqual(pauses, [])
        self.assertEqual([request.connection for request in server.requests()], [1, 2, 3])

    def test_one_that_lay_idle_for_long_is_not_used(self):
        pauses = Pauses(self)
        server = self.server()
        client = self.client(server)
        client.get("x")
        pauses.sleep(_transport.MAX_IDLE_SECONDS + 1)
        client.get("x")
        self.assertEqual([request.connection for request in server.requests()], [1, 2])

    def test_those_of_the_parent_process_are_not_used(self):
        server = self.server()
        client = self.client(server)
        client.get("x")
        with mock.patch.object(_transport.os, "getpid", return_value=-1):
            client.get("x")
        self.assertEqual([request.connection for request in server.requests()], [1, 2])

    def test_threads_share_a_client_and_get_their_own_answers(self):
        server = self.server()
        client = self.client(server, max_idle=4)
        ids = ["i-%d" % number for number in range(400)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda id_: client.submit("orders", intent_id=id_)["intentId"], ids))
        self.assertEqual(answers, ids)
        self.assertLessEqual(len(client._transport._idle), 4)

    def test_tls_is_spoken_and_a_certificate_of_nobody_is_not_tried_again(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = folder + "/certificate", folder + "/key"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                            "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True)
            of_server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            of_server.load_cert_chain(certificate, key)
            trusting = ssl.create_default_context(cafile=certificate)
        server = self.server("half", tls=of_server)
        self.assertEqual(self.client(server, tls=trusting).submit("orders", "x" * 500_000, intent_id="o")["intentId"], "o")
        connections = server.connections
        with self.assertRaises(errors.Unreachable):
            self.client(server).submit("orders")
        self.assertEqual(server.connections, connections + 1)


if __name__ == "__main__":
    unittest.main()
