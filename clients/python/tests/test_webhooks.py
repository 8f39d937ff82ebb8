"""Webhooks as receivers get them, by the vectors that all clients share.  Q8"""
import json
import pathlib
import time
import unittest

import waybill
from waybill import webhooks

VECTORS = json.loads((pathlib.Path(__file__).resolve().parents[2] / "tests/webhook_vectors.json").read_text(encoding="utf-8"))["vectors"]
ERRORS = {"missing_header": webhooks.MissingHeader, "malformed_header": webhooks.MalformedHeader, "outside_window": webhooks.OutsideWindow,
          "wrong_signature": webhooks.WrongSignature, "bad_secret": ValueError}


class Vectors(unittest.TestCase):
    def test_each_is_what_it_is(self):
        for vector in VECTORS:
            with self.subTest(vector["name"]):
                check = lambda: waybill.verify(vector["headers"], vector["body"].encode(), vector["secrets"], now=vector["now"])
                if vector["is"] == "verified":
                    self.assertEqual(check().id, {name.lower(): value for name, value in vector["headers"].items()}["webhook-id"])
                else:
                    with self.assertRaises(ERRORS[vector["is"]]) as raised:
                        check()
                    self.assertIs(type(raised.exception), ERRORS[vector["is"]])
        self.assertGreater(len(VECTORS), 30)


class Verify(unittest.TestCase):
    def setUp(self):
        self.headers, self.body = dict(VECTORS[0]["headers"]), VECTORS[0]["body"]
        self.secret, self.now = VECTORS[0]["secrets"][0], VECTORS[0]["now"]

    def test_tells_id_and_time(self):
        self.assertEqual(waybill.verify(self.headers, self.body.encode(), self.secret, now=self.now),
                         waybill.Verified("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330))

    def test_takes_headers_as_pairs_and_a_body_as_text(self):
        waybill.verify(list(self.headers.items()), self.body, [self.secret], now=self.now)

    def test_refuses_a_header_that_stands_twice(self):
        with self.assertRaises(webhooks.MissingHeader):
            waybill.verify([*self.headers.items(), ("Webhook-Id", "other")], self.body, self.secret, now=self.now)

    def test_by_default_the_clock_is_this_machines_and_the_window_five_minutes(self):
        with self.assertRaises(webhooks.OutsideWindow):
            waybill.verify(self.headers, self.body, self.secret)
        self.assertLess(self.now, time.time() - 300)

    def test_the_window_may_be_another_or_none(self):
        waybill.verify(self.headers, self.body, self.secret, now=self.now + 900, window=900)
        waybill.verify(self.headers, self.body, self.secret, window=None)
        with self.assertRaises(webhooks.OutsideWindow):
            waybill.verify(self.headers, self.body, self.secret, now=self.now + 11, window=10)

    def test_a_wrong_signature_is_said_before_a_wrong_time(self):
        with self.assertRaises(webhooks.WrongSignature):
            waybill.verify(self.headers, self.body + " ", self.secret)

    def test_all_errors_of_verification_have_one_base(self):
        for kind in (webhooks.MissingHeader, webhooks.MalformedHeader, webhooks.OutsideWindow, webhooks.WrongSignature):
            self.assertTrue(issubclass(kind, webhooks.VerificationError))


if __name__ == "__main__":
    unittest.main()
