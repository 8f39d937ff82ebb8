"""What the journal gets from the host, by its own protocol, and what standard error gets where there is no journal.  O2"""
import json
import os
import unittest

from service_world import Journal, World, eventually, target


class JournalEntries(World):
    def setUp(self):
        super().setUp()
        self.journal = Journal(self.folder / "run/journal/socket")
        self.write_config("embedded: /var/lib/waybill/postgresql")
        self.write_registry(target("to.hook", "webhook", self.receiver.url + "/hook", "gone"))

    def start(self, is_journal):
        """Standard error is a file, which JOURNAL_STREAM names or not."""
        log = self.folder / "log-1"
        log.touch()
        at = os.stat(log)
        host = self.under_unit(environment={"JOURNAL_STREAM": "%d:%d" % (at.st_dev, at.st_ino + (not is_journal))})
        self.manager.hears("READY=1", host)
        return host

    def test_entries_have_the_events_fields(self):
        host = self.start(True)
        find = lambda: [entry for entry in self.journal.all() if entry.get("WAYBILL_EVENT") == "host.ready"]
        entry = eventually(find, "host.ready in the journal")[0]
        self.assertTrue(entry["MESSAGE"].startswith("host.ready"), entry)
        self.assertEqual((entry["PRIORITY"], entry["SYSLOG_IDENTIFIER"]), ("6", "waybill"))
        self.assertEqual((entry["WAYBILL_LISTEN"], entry["WAYBILL_TARGETS"]), ("127.0.0.1:%d" % self.port, "1"))
        self.assertEqual(host.all_log(), "")
        self.assertEqual(host.stop(), 0)
        eventually(lambda: "host.stopped" in [entry.get("WAYBILL_EVENT") for entry in self.journal.all()], "host.stopped")

    def test_priorities_are_those_of_syslog(self):
        self.write("etc/plugins/broken.so", "no library")
        host = self.start(True)
        refused = lambda: [entry for entry in self.journal.all() if entry.get("WAYBILL_EVENT") == "plugin.refused"]
        self.assertEqual(eventually(refused, "plugin.refused")[0]["PRIORITY"], "3")
        self.assertEqual(host.stop(), 0)

    def test_without_a_journal_the_log_is_json(self):
        host = self.start(False)
        events = [json.loads(line)["event"] for line in host.all_log().splitlines()]
        self.assertIn("host.ready", events)
        self.assertEqual(self.journal.all(), [])
        self.assertEqual(host.stop(), 0)

    # A journal that does not take an entry: its socket is away.
    def test_what_the_journal_does_not_take_is_json(self):
        (self.folder / "run/journal/socket").unlink()
        host = self.start(True)
        self.assertIn("host.ready", [json.loads(line)["event"] for line in host.all_log().splitlines()])
        self.assertEqual(host.stop(), 0)


if __name__ == "__main__":
    unittest.main()
