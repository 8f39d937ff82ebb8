"""Compose, status, probe, failures and checks, in a process."""
import unittest

from host_side import BLOCKING, PluginProcess, ProcessTest, response_fields
from waybill_plugin import I64, U64, Kind, frame, text

SENDS = '@waybill.sender("x")\nasync def send(job, host): return waybill.accepted()\n'


def failure_fields(call, provider_ref="", key="", reason="", detail="", failed_at=0):
    return U64.pack(call) + I64.pack(failed_at) + b"".join(map(text, (provider_ref, key, reason, detail)))


class Abilities(ProcessTest):
    def test_compose_makes_the_bytes(self):  # I4
        process = self.start(SENDS + """
@waybill.compose("x")
async def compose(job, host):
    return waybill.accepted(artifact=b"Dear " + job.payload_bytes, artifact_type="text/plain")
""")
        process.begin(1, "compose", payload=b"Ann")
        outcome = process.completed()[1]
        self.assertEqual((outcome.artifact, outcome.artifact_type), (b"Dear Ann", "text/plain"))

    def test_status_and_probe_ask(self):  # I4
        process = self.start(SENDS + """
@waybill.status("x")
async def status(job, host):
    answer = await host.fetch("GET", f"https://api.test/{job.provider_ref}")
    return waybill.accepted(answer) if answer.json() == "there" else waybill.deferred("under_way", answer)
@waybill.probe("x")
async def probe(job, host):
    return waybill.judge(await host.fetch("GET", "https://api.test/health"), "refused")
""")
        for asked, url, body, verdict in (("status", b"https://api.test/r7", b'"there"', "accepted"),
                                          ("status", b"https://api.test/r7", b'"soon"', "deferred"),
                                          ("probe", b"https://api.test/health", b"", "accepted")):
            process.begin(1, asked, provider_ref="r7")
            _, request, fields = process.expect_fetch()
            self.assertIn(url, fields)
            process.say(frame(Kind.RESPONSE, *response_fields(request, body=body)))
            self.assertEqual(process.completed()[1].verdict, verdict)

    def test_what_the_plugin_has_no_function_for_is_told(self):  # I4
        process = self.start(SENDS)
        process.begin(1, "probe")
        self.assertEqual(process.completed()[1].detail, "LookupError: the plugin has no function for probe")

    def test_failures_are_listed_by_a_generator_or_a_function(self):  # I4
        generator = """
@waybill.failures("x")
async def failures(job, host):
    yield waybill.Failure(provider_ref=f"{job.since} {job.page}", idempotency_key="k", reason="bounced", detail="d", failed_at=9)
    yield waybill.NextPage("3")
"""
        function = """
@waybill.failures("x")
async def failures(job, host):
    about = f"{job.since} {job.page}"
    host.report(waybill.Failure(provider_ref=about, idempotency_key="k", reason="bounced", detail="d", failed_at=9))
    host.next_page("3")
    return waybill.accepted()
"""
        plain = SENDS.replace("async ", ""), function.replace("async ", ""), generator.replace("async ", "")
        for source, actions in ((SENDS + generator, None), (SENDS + function, None), (plain[0] + plain[1], BLOCKING),
                                (plain[0] + plain[2], BLOCKING)):
            process = self.start(source, actions)
            process.begin(4, "failures", since=1_700_000_000, page="2")
            self.assertEqual(process.expect(Kind.FAILURE), failure_fields(4, "1700000000 2", "k", "bounced", "d", 9))
            self.assertEqual(process.expect(Kind.NEXT_PAGE), U64.pack(4) + text("3"))
            self.assertEqual(process.completed()[1].verdict, "accepted")

    def test_a_generator_may_end_with_another_outcome_or_wrongly(self):  # I4
        for line, reason in (('yield waybill.transient("not_told")', "not_told"), ("yield 3", "plugin_error"),
                             ("1 / 0; yield", "plugin_error")):
            process = self.start(SENDS + f'@waybill.failures("x")\nasync def failures(job, host):\n    {line}\n')
            process.begin(1, "failures")
            self.assertEqual(process.completed()[1].reason, reason)


class Checks(ProcessTest):
    SOURCE = SENDS + """
@waybill.check_settings("x")
def check(settings):
    if "a" not in settings:
        yield "/a", "it is missing"
    if settings.get("b"):
        raise ValueError("no b")
@waybill.check_destination("x")
def check_destination(destination):
    return [("", "not this one")] if destination == {"url": "bad"} else None
"""

    def setUp(self):
        self.process = PluginProcess(self, self.SOURCE)
        self.process.greet()

    def test_problems_have_a_place_and_a_message(self):  # I4
        self.assertEqual(self.process.check(1, "{}"), (1, [("/a", "it is missing")]))
        self.assertEqual(self.process.check(1, '{"a": 1}'), (0, []))
        self.assertEqual(self.process.check(2, '{"url": "bad"}'), (1, [("", "not this one")]))
        self.assertEqual(self.process.check(2, '{"url": "good"}'), (0, []))

    def test_where_there_is_no_check_all_is_good(self):  # I4
        self.assertEqual(self.process.check(1, "{}", "y"), (0, []))

    def test_a_check_that_fails_is_a_problem(self):  # I4
        for data, why in (('{"b": 1}', "ValueError: no b"), ("[" * 200_000, "RecursionError"), ("\x00", "JSONDecodeError"),
                          ("[]", "AttributeError")):
            count, ((path, message),) = self.process.check(1, data)
            self.assertEqual((count, path), (1, ""))
            self.assertIn("the plugin failed while it checked this: " + why, message)

    def test_more_than_a_thousand_are_as_bad_as_a_thousand(self):  # I4
        process = PluginProcess(self, SENDS + """
@waybill.check_settings("x")
def check(settings):
    while True:
        yield "", "bad"
""")
        process.greet()
        self.assertEqual(process.check(1, "{}")[0], 1000)


if __name__ == "__main__":
    unittest.main()
