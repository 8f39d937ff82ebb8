"""The client and the snippets of its README with a real host, beside which tests/live_host.py runs this.  Q8"""
import base64
import json
import os
import pathlib
import re
import sys
import threading
import time
import unittest
import urllib.request
from unittest import mock

PYTHON = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PYTHON))
import waybill
from waybill import errors

PATIENCE = 300


def eventually(holds):
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError("not seen in time")
        threading.Event().wait(0.05)
    return found


class Live(unittest.TestCase):
    def setUp(self):
        self.client = waybill.Client(os.environ["WAYBILL_URL"], os.environ["WAYBILL_TOKEN"], timeout=PATIENCE, time_limit=PATIENCE)
        self.addCleanup(self.client.close)

    def test_an_intent_is_submitted_found_listed_and_told(self):
        intent = self.client.submit("hook", {"text": "Zoë 😀"}, intent_id="a/b ?ü", wait_seconds=60)
        self.assertEqual((intent["intentId"], intent["status"]), ("a/b ?ü", "accepted"))
        self.assertTrue(waybill.has_ended(intent))
        self.assertEqual(self.client.submit("hook", {"text": "Zoë 😀"}, intent_id="a/b ?ü"), intent)
        self.assertEqual(self.client.get("a/b ?ü"), intent)
        history = self.client.history("a/b ?ü")
        self.assertEqual((history["intent"], history["attempts"][-1]["outcomeStatus"]), (intent, "accepted"))
        with self.assertRaises(errors.Conflict) as raised:
            self.client.submit("hook", {"text": "other"}, intent_id="a/b ?ü")
        self.assertEqual((raised.exception.code, raised.exception.id), ("idempotency_conflict", "a/b ?ü"))
        with self.assertRaises(errors.NotFound):
            self.client.get("nobody's")
        with self.assertRaises(errors.Unauthorized), waybill.Client(os.environ["WAYBILL_URL"], "wrong", time_limit=PATIENCE) as stranger:
            stranger.get("a/b ?ü")

    def test_a_batch_and_its_pages(self):
        items = [{"intentId": "batch-%d" % number, "submissionTarget": "hook", "payload": number} for number in range(25)]
        outcomes = self.client.submit_batch([*items, {"submissionTarget": "nowhere"}])
        self.assertEqual([outcome.intent["intentId"] for outcome in outcomes[:-1]], [item["intentId"] for item in items])
        self.assertIsInstance(outcomes[-1].error, errors.InvalidRequest)
        listed = [intent["intentId"] for intent in self.client.list(target="hook", page_size=10)]
        self.assertEqual(len(set(listed)), len(listed))
        self.assertLessEqual({item["intentId"] for item in items}, {*listed})

    def test_forms_jobs_and_events(self):
        form = self.client.submit_form("contact", {"name": "Ada"})
        self.assertEqual(form["status"], "received")
        self.client.finalize(form["submissionId"])
        eventually(lambda: self.client.get_submission(form["submissionId"])["status"] == "routed")
        job = self.client.submit_job("parcels", {"parcel": 1}, submission_id="job-1", metadata={"reference": "r-1"})
        self.assertEqual(job["pipeline"], "parcels")
        eventually(lambda: self.client.get_submission("job-1")["state"] == "DONE")
        self.assertEqual([one["submissionId"] for one in self.client.list_submissions(reference="r-1", page_size=1)], ["job-1"])
        self.assertIn(form["submissionId"], [one["submissionId"] for one in self.client.list_submissions(form_id="contact", page_size=1)])
        self.assertEqual(self.client.post_form({"parcel": 2}, submission_id="post")["submissions"][0]["submissionId"], "post-parcels")
        event = {"event_id": "event-1", "snapshot": {"cve": "CVE-2026-2"}}
        self.assertEqual(self.client.publish(os.environ["WAYBILL_RULE"], **event), {"eventId": "event-1", "channels": 1, "duplicate": False})
        self.assertTrue(self.client.publish(os.environ["WAYBILL_RULE"], **event)["duplicate"])


class Readme(unittest.TestCase):
    def test_every_snippet_runs(self):
        text = (PYTHON / "README.md").read_text(encoding="utf-8")
        snippets = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertGreaterEqual(len(snippets), 6)
        told = {}
        with mock.patch("builtins.print") as printed:
            for snippet in snippets:
                exec(compile(snippet.replace("http://localhost:8080", os.environ["WAYBILL_URL"]), "README.md", "exec"), told)
        words = [call.args for call in printed.call_args_list]
        self.assertEqual(words[-1][0], "invalid_request")  # of the target that is nowhere
        self.assertIn(("order-4711", True), [*self.until_listed(told), *words])
        told["client"].close()

    def until_listed(self, told):
        eventually(lambda: waybill.has_ended(told["client"].get("order-4711")))
        return [(intent["intentId"], waybill.has_ended(intent)) for intent in told["client"].list(target="hook", status="accepted")]

    def test_a_webhook_of_the_host_is_received_as_the_readme_does(self):
        (snippet,) = re.findall(r"```python\n(def receive.*?)```", (PYTHON / "README.md").read_text(encoding="utf-8"), re.DOTALL)
        told = {"os": os, "waybill": waybill}
        exec(compile(snippet, "README.md", "exec"), told)
        with waybill.Client(os.environ["WAYBILL_URL"], os.environ["WAYBILL_TOKEN"], timeout=PATIENCE, time_limit=PATIENCE) as client:
            client.submit("hook", {"for": "this test"}, wait_seconds=60)
        (headers, body), *_ = [webhook for webhook in received() if webhook[1] == b'{"for":"this test"}']
        self.assertIn(" ", headers["webhook-signature"])  # the host signs with both
        self.assertEqual(told["receive"](headers, body), headers["webhook-id"])
        with self.assertRaises(waybill.webhooks.WrongSignature):
            told["receive"](headers, body + b" ")


def received():
    """What came to the receiver beside the host."""
    with urllib.request.urlopen(os.environ["WAYBILL_RECEIVED"], timeout=PATIENCE) as answer:
        return [(webhook["headers"], base64.b64decode(webhook["body"])) for webhook in json.load(answer)]


if __name__ == "__main__":
    unittest.main()
