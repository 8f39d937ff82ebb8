"""What the service manager hears of a host that starts, loses its database, is told to reload, is drained, and stops.  O2 O5"""
import signal
import unittest

from service_world import Database, World, eventually, target


class Readiness(World):
    def setUp(self):
        super().setUp()
        self.database = Database(self)
        self.write_plain_config(self.database)
        self.write_registry(target("to.hook", "webhook", self.receiver.url + "/hook", "gone"))

    def test_it_is_ready_once_requests_are_answered(self):
        host = self.plainly()
        self.manager.hears("READY=1", host)
        self.assertEqual(self.request("GET", "/readyz")[0], 200)
        self.hand_in("first", "to.hook", {"n": 1})

    def test_it_is_not_ready_before_its_database_is(self):
        self.database.server.send_signal(signal.SIGSTOP)
        host = self.plainly()
        told = self.manager.hears("STATUS=opening the database", host)
        self.assertNotIn("READY=1", told)
        self.database.server.send_signal(signal.SIGCONT)
        self.manager.hears("READY=1", host)

    def test_status_tells_what_is_wrong(self):
        host = self.plainly()
        self.manager.hears("STATUS=ready, 0 deliveries under way", host)
        self.manager.forget()
        self.database.stop()
        self.manager.hears("STATUS=not ready: the database", host)
        self.manager.forget()
        self.database.start()
        self.manager.hears("STATUS=ready", host)
        self.write("etc/registry/targets.json", "{")
        host.send_signal(signal.SIGHUP)
        self.manager.hears("the last reload was refused: see registry.refused in the log", host)
        self.manager.forget()
        self.write_registry(target("to.hook", "webhook", self.receiver.url + "/hook", "gone"))
        host.send_signal(signal.SIGHUP)
        eventually(lambda: self.manager.listen(1) and "refused" not in self.manager.heard[-1], "a status without it")

    def test_a_host_that_an_operator_has_drained_counts_as_started(self):
        self.write_plain_config(self.database, "host_name: mail-1\n")
        host = self.plainly()
        self.manager.hears("READY=1", host)
        self.assertEqual(self.request("POST", "/v1/hosts/mail-1/drain", {"reason": "new kernel"})[0], 200)
        self.manager.hears("STATUS=not ready: an operator has drained the host", host)
        self.assertEqual(host.stop(), 0)
        self.manager.forget()
        host = self.plainly()
        self.manager.hears("READY=1", host)
        self.manager.hears("STATUS=not ready: an operator has drained the host", host)
        self.assertEqual(self.request("GET", "/readyz")[0], 503)

    def test_it_says_that_it_stops_and_how_long_that_may_take(self):
        host = self.plainly()
        self.manager.hears("READY=1", host)
        self.assertEqual(host.stop(), 0)
        told = self.manager.listen()
        self.assertLess(told.index("READY=1"), told.index("STOPPING=1"))
        self.assertEqual(told.count("READY=1"), 1)
        self.assertIn("STATUS=draining", told)
        self.assertIn("EXTEND_TIMEOUT_USEC=45000000", told)
        self.assertNotIn("WATCHDOG=trigger", told)


if __name__ == "__main__":
    unittest.main()
