"""A thread that nothing works without, and that does not get on: the service manager hears of it at once, the log has its stack, the
manager's SIGABRT writes all stacks, and no plugin is blamed.  O2"""
import json
import os
import pathlib
import platform
import signal
import threading
import time
import unittest

from service_world import PATIENCE, World, eventually, needs, target
from spinning import make_spin, threads_named

WAITS_FOR_DATABASE = {7, 23, 45, 271}  # poll, select, recvfrom, ppoll: a thread that rests waits in futex
WATCHDOG_USEC = 10_000_000


class Stuck(World):
    def setUp(self):
        super().setUp()
        needs(platform.machine() == "x86_64", "the test knows the registers of x86-64 only")
        # What is too long is half of WATCHDOG_USEC then: with waits as they are without this it would be more.
        self.write_config("embedded: /var/lib/waybill/postgresql, claim_timeout: 100ms, settle_timeout: 100ms, intake_timeout: 100ms")
        self.write_registry(target("to.hook", "webhook", self.receiver.url + "/hook", "gone"))

    def start(self):
        self.manager.forget()
        host = self.under_unit(watchdog_usec=WATCHDOG_USEC)
        self.manager.hears("WATCHDOG=1", host)
        self.manager.hears("READY=1", host)
        return host

    def signal_database(self, number):
        """To the private server and all its processes."""
        server = int(next((self.folder / "state").rglob("postmaster.pid")).read_text().split()[0])
        children = pathlib.Path("/proc/%d/task/%d/children" % (server, server)).read_text().split()
        for process in (server, *map(int, children)):
            os.kill(process, number)

    def hand_in_without_waiting(self, key):
        def hand_in():
            try:
                self.request("POST", "/v1/intents", {"intentId": key, "submissionTarget": "to.hook", "payload": {"n": 1}})
            except OSError:
                pass  # the host ends first

        threading.Thread(target=hand_in, daemon=True).start()

    def make_stuck(self, host, kind):
        """Returns the thread's name. While the database hangs, a thread that needs it is in its turn, and there it begins to spin."""
        if kind == "http":
            make_spin(host.pid, threads_named(host.pid, "http-0")["http-0"])
            return "http-0"
        if kind == "settler":
            self.receiver.may_answer.clear()
            self.hand_in("settled", "to.hook", {"n": 1})
            eventually(lambda: self.receiver.count("/hook") > 0, "a delivery")
        self.signal_database(signal.SIGSTOP)
        self.receiver.may_answer.set()
        if kind == "intake":
            self.hand_in_without_waiting("taken-in")
        spin = lambda: next((name for name, thread in threads_named(host.pid, kind).items()
                             if make_spin(host.pid, thread, WAITS_FOR_DATABASE)), None)
        name = eventually(spin, kind + " waits for the database")
        self.signal_database(signal.SIGCONT)
        return name

    def expect_told(self, host, name):
        self.manager.hears("WATCHDOG=trigger", host)
        told = [json.loads(line) for line in host.all_log().splitlines() if '"host.stuck"' in line]
        self.assertEqual([event["thread"] for event in told], [name])
        self.assertIn("/usr/bin/waybill(", told[0]["stack"])
        self.assertEqual(told[0]["effect"], "the service manager starts this host anew")
        self.manager.forget()
        host.send_signal(signal.SIGABRT)  # as systemd does now
        self.assertEqual(host.wait(timeout=PATIENCE), -signal.SIGABRT)
        self.assertNotIn("WATCHDOG=1", self.manager.listen())
        log = host.all_log()
        for thread in (name, "waybill"):
            self.assertRegex(log, r"waybill: stack of thread \d+ %s\n/" % thread)

    def test_a_thread_that_spins_is_told_with_its_stack(self):
        for kind in ("http", "claimer", "intake", "settler"):
            with self.subTest(kind):
                host = self.start()
                self.expect_told(host, self.make_stuck(host, kind))
        host = self.start()
        self.hand_in("after", "to.hook", {"n": 1})
        self.accepted("after")
        self.assertEqual(host.stop(), 0)
        for blame in ("plugin.crashed", "host.careful_start"):  # a kill from outside is no crash
            self.assertNotIn(blame, host.all_log())

    # Stopped with its machine, or by a debugger, for longer than any turn may take.
    def test_a_host_that_was_stopped_is_not_stuck(self):
        host = self.start()
        host.send_signal(signal.SIGSTOP)
        end = time.monotonic() + 1.5 * WATCHDOG_USEC / 1e6
        eventually(lambda: time.monotonic() > end, "a while")
        self.manager.forget()
        host.send_signal(signal.SIGCONT)
        told = self.manager.hears("WATCHDOG=", host)
        self.assertIn("WATCHDOG=1", told)
        self.assertNotIn("WATCHDOG=trigger", told)
        self.assertEqual(host.stop(), 0)


if __name__ == "__main__":
    unittest.main()
