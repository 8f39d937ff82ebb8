"""The types of the clients are those of docs/openapi.yaml, and the generator says where they are not.  Q8"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CLIENTS = pathlib.Path(__file__).resolve().parents[1]
OPENAPI = CLIENTS.parent / "docs/openapi.yaml"


def generate(clients, *arguments):
    return subprocess.run([sys.executable, "-B", clients / "generate.py", *arguments], capture_output=True, text=True)


class Generated(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="waybill-generated-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.clients = self.folder / "clients"
        shutil.copytree(CLIENTS, self.clients, ignore=shutil.ignore_patterns("__pycache__", "node_modules", "tests"))
        (self.folder / "docs").mkdir()
        self.openapi = self.folder / "docs/openapi.yaml"
        shutil.copy(OPENAPI, self.openapi)

    def change(self, file, before, after):
        text = file.read_text(encoding="utf-8")
        self.assertIn(before, text)
        file.write_text(text.replace(before, after, 1), encoding="utf-8")

    def test_every_client_is_as_the_api(self):
        done = generate(CLIENTS, "--check")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_change_of_the_api_is_found_in_every_client(self):
        self.change(self.openapi, "rejectedReason: { type: string }", "rejectedReason: { type: integer }")
        done = generate(self.clients, "--check")
        self.assertEqual(done.returncode, 1)
        named = {line.split()[0] for line in done.stderr.splitlines()}
        self.assertIn("clients/python/waybill/types.py", named)
        self.assertEqual({file.split("/")[1] for file in named}, {emitter.parent.name for emitter in CLIENTS.glob("*/emit_types.py")})
        self.assertEqual(generate(self.clients).returncode, 0)
        self.assertEqual(generate(self.clients, "--check").returncode, 0)

    def test_a_change_by_hand_is_found(self):
        self.change(self.clients / "python/waybill/types.py", "rejectedReason: str", "rejectedReason: int")
        done = generate(self.clients, "--check")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "clients/python/waybill/types.py is not what docs/openapi.yaml says: run clients/generate.py\n"))

    def test_what_is_not_known_here_names_its_place(self):
        for before, after, said in (
                ("rejectedReason: { type: string }", "rejectedReason: { not: {} }", "Intent.rejectedReason: not is not known here"),
                ("rejectedReason: { type: string }", "rejectedReason: { type: file }", "Intent.rejectedReason: the type file is not known here"),
                ("/v1/intents/{id}/history:", "/v1/intents/{id}/past:", "GET /v1/intents/{id}/history: there is no such operation"),
                ('intent: { $ref: "#/components/schemas/Intent" }', 'intent: { $ref: "#/components/schemas/Intents" }', "Intents: there is no such schema"),
                ("required: [intent, attempts]", "required: [intent, attempt]", "History: attempt is required, but no property")):
            shutil.copy(OPENAPI, self.openapi)
            self.change(self.openapi, before, after)
            done = generate(self.clients, "--check")
            self.assertEqual((done.returncode, done.stderr), (1, f"generate.py: {said}\n"))

    def test_what_has_arrived_must_go_from_what_is_coming(self):
        (self.clients / "coming.yaml").write_text("info: { title: Waybill }\n", encoding="utf-8")
        done = generate(self.clients, "--check")
        self.assertEqual((done.returncode, done.stderr), (1, "generate.py: coming.yaml/info/title: docs/openapi.yaml has this now: remove it here\n"))


if __name__ == "__main__":
    unittest.main()
