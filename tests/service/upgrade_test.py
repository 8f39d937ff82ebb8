"""A host of the version before is replaced by this one on a socket that the service manager holds, and the schema is changed under both:
no connection is refused or reset, every request is answered, and what was acknowledged is delivered once.  O6"""
import os
import subprocess
import unittest

from restarts_test import Clients, REQUESTS
from service_world import BUILD, Database, SOURCE, World, eventually, must_run, target


def version_before():
    """The program of before the newest migration came; it takes minutes to build."""
    if os.environ.get("WAYBILL_TEST_ALL") != "1":
        raise unittest.SkipTest("the program of before takes minutes to build: set WAYBILL_TEST_ALL=1")
    built = subprocess.run([SOURCE / "tests/support/old_version.sh", SOURCE], capture_output=True, text=True)
    if built.returncode == 77 and not must_run():
        raise unittest.SkipTest(built.stderr)
    if built.returncode != 0:
        raise AssertionError(built.stderr)
    _, program, _, word = built.stdout.split()
    if word != "beside":
        raise AssertionError("the version before may not run beside this schema: this upgrade needs a pause")
    return program


class Upgrade(World):
    def test_from_the_version_before_refuses_and_loses_nothing(self):
        program = version_before()
        database = Database(self)
        self.write_plain_config(database)
        self.write_registry(target("to.hook", "webhook", self.receiver.url + "/hook", "gone"))
        host = self.plainly(program=program)
        self.manager.hears("READY=1", host)
        clients = Clients(self.port)
        eventually(lambda: clients.count >= REQUESTS // 4, "requests")
        migrated = subprocess.run([BUILD / "waybill", "migrate", "--config", self.folder / "etc/waybill.yaml"], capture_output=True, text=True,
                                  env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(migrated.returncode, 0, migrated.stderr)
        self.assertIn("applied ", migrated.stdout)
        eventually(lambda: clients.count >= REQUESTS // 2, "requests")
        self.assertEqual(host.stop(), 0, host.log())
        self.manager.forget()
        host = self.plainly()
        self.manager.hears("READY=1", host)
        clients.end(self, host)


if __name__ == "__main__":
    unittest.main()
