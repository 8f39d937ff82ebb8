"""What answers and replies are judged as, and what an outcome takes from them."""
import unittest

import host_side  # noqa: F401
import waybill_plugin as waybill
from host_side import response_fields
from waybill_plugin import I32, U32, text


def answer(status=200, **more):
    return waybill.Answer(b"".join(response_fields(1, status, **more)))


def reply(stage="data", code=250, said="Ok", *, error=None, reach="answered", recipients=()):
    fields = (waybill.REPLY.pack(1, waybill.ERRORS[error], waybill.REACHES[reach], waybill.STAGES[stage], code), text(said),
              text("as scripted" if error else ""), U32.pack(len(recipients)),
              *(I32.pack(one) + text(f"said {one}") for one in recipients))
    return waybill.Reply(b"".join(fields), [f"{n}@test" for n in range(len(recipients))])


class JudgingAnswers(unittest.TestCase):
    def test_a_status_means_what_it_does_for_most(self):  # I4
        for status, verdict, reason, scope in (
                (200, "accepted", "", "this_job"), (204, "accepted", "", "this_job"),
                (302, "transient", "invalid_answer", "this_job"), (0, "transient", "invalid_answer", "this_job"),
                (400, "rejected", "refused", "this_job"), (404, "rejected", "refused", "this_job"),
                (401, "transient", "unauthorized", "whole_target"), (403, "transient", "unauthorized", "whole_target"),
                (408, "transient", "try_later", "this_job"), (425, "transient", "try_later", "this_job"),
                (429, "transient", "try_later", "whole_target"), (500, "transient", "server_error", "this_job"),
                (502, "transient", "server_error", "whole_target"), (503, "transient", "server_error", "whole_target"),
                (504, "transient", "server_error", "whole_target")):
            outcome = waybill.judge(answer(status, retry_after_ms=7000), "refused")
            self.assertEqual((outcome.verdict, outcome.reason, outcome.scope), (verdict, reason, scope), status)
            self.assertEqual((outcome.reach, outcome.code), ("answered", status))
            self.assertEqual(outcome.retry_after, None if verdict == "accepted" else 7)

    def test_without_an_answer_the_reach_is_the_hosts(self):  # I4
        for error, reach, reason, scope in (
                ("resolve", "not_sent", "resolve_failed", "whole_target"),
                ("connect", "not_sent", "connect_failed", "whole_target"),
                ("tls", "not_sent", "tls_failed", "whole_target"), ("timeout", "maybe_sent", "timeout", "this_job"),
                ("timeout", "not_sent", "timeout", "whole_target"), ("broken", "maybe_sent", "connection_broken", "this_job"),
                ("refused", "not_sent", "refused_by_host", "this_job"), ("cancelled", "not_sent", "cancelled", "this_job")):
            outcome = waybill.judge(answer(0, error=error, reach=reach), "refused")
            self.assertEqual((outcome.verdict, outcome.reason, outcome.reach, outcome.scope), ("transient", reason, reach, scope))
            self.assertEqual(outcome.detail, "as scripted")


class JudgingReplies(unittest.TestCase):
    def test_a_reply_means_what_it_does_for_most(self):  # I4
        for given, verdict, reason, scope in (
                (reply(recipients=(250, 250)), "accepted", "", "this_job"),
                (reply("connect", 421), "transient", "try_later", "whole_target"),
                (reply("connect", 554), "transient", "relay_refused", "whole_target"),
                (reply("auth", 535), "transient", "relay_login_refused", "whole_target"),
                (reply("auth", 454), "transient", "try_later", "whole_target"),
                (reply("auth", 0, error="broken", reach="not_sent"), "transient", "relay_login_refused", "whole_target"),
                (reply("mail", 530), "transient", "relay_login_refused", "whole_target"),
                (reply("mail", 550), "rejected", "refused", "this_job"), (reply("mail", 451), "transient", "try_later", "this_job"),
                (reply("rcpt", 550, recipients=(550,)), "rejected", "refused", "this_job"),
                (reply("rcpt", 450, recipients=(550, 450)), "transient", "try_later", "this_job"),
                (reply("data", 554, recipients=(250,)), "rejected", "refused", "this_job"),
                (reply("data", 451, recipients=(250,)), "transient", "try_later", "this_job"),
                (reply("none", 0, error="connect", reach="not_sent"), "transient", "connect_failed", "whole_target"),
                (reply("none", 0, error="broken", reach="maybe_sent"), "transient", "connection_broken", "this_job")):
            outcome = waybill.judge(given, "refused")
            self.assertEqual((outcome.verdict, outcome.reason, outcome.scope), (verdict, reason, scope), given)
            self.assertEqual(outcome.reach, given.reach)

    def test_of_several_recipients_those_who_have_it_are_told(self):  # I4
        outcome = waybill.judge(reply(recipients=(250, 450, 550)), "refused")
        self.assertEqual((outcome.verdict, outcome.reason, outcome.code), ("transient", "some_recipients_later", 450))
        self.assertEqual(outcome.result["accepted"], ["0@test"])
        self.assertEqual([one["address"] for one in outcome.result["refused"]], ["1@test", "2@test"])


class Outcomes(unittest.TestCase):
    def test_each_kind_has_its_reach(self):  # I4
        outcomes = waybill.accepted(), waybill.rejected("a"), waybill.transient("a"), waybill.deferred("a")
        self.assertEqual([one.reach for one in outcomes], ["answered", "answered", "maybe_sent", "not_sent"])

    def test_an_answer_gives_its_reach_and_code(self):  # I4
        busy = answer(503, retry_after_ms=1500)
        for outcome, retry_after in ((waybill.transient("busy", busy), 1.5), (waybill.rejected("busy", busy), None),
                                     (waybill.accepted(busy), None), (waybill.deferred("busy", busy), None)):
            self.assertEqual((outcome.reach, outcome.code, outcome.retry_after), ("answered", 503, retry_after))

    def test_what_is_said_beside_it_counts_more(self):  # I4
        outcome = waybill.transient("busy", answer(503, retry_after_ms=1500), reach="maybe_sent", code=7, retry_after=2)
        self.assertEqual((outcome.reach, outcome.code, outcome.retry_after), ("maybe_sent", 7, 2))

    def test_what_is_too_long_is_cut_and_a_detail_is_one_line(self):  # I4
        outcome = waybill.accepted(detail="a\nb\t" + "c" * 10_000, provider_ref="r" * 10_000, artifact=b"a" * (2 << 20))
        _, _, detail, provider_ref, _, _, artifact = outcome.fields(1)
        self.assertEqual((len(detail), detail[4:9]), (4 + 4096, b"a b c"))
        self.assertEqual(len(provider_ref), 4 + 4096)
        self.assertEqual(len(artifact), 4 + (1 << 20) + 1)  # one byte more than the host takes, so that it sees that


if __name__ == "__main__":
    unittest.main()
