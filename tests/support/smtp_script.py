"""The other side of smtp_script.h: what a server of the tests is to do next, and its notes of what it met."""
import asyncio
import collections
import json
import os


class Script:
    def __init__(self, folder):
        self._folder = folder
        self._file = folder / "script"
        self._notes = open(folder / "notes", "a")
        self._turns = collections.Counter()  # steps taken of each list

    def note(self, **what):
        print(json.dumps(what), file=self._notes, flush=True)

    def next_step(self, moment):
        scripted = self._read()["moments"].get(moment, {"list": 0, "steps": []})
        turn = self._turns[scripted["list"]]
        self._turns[scripted["list"]] += 1
        self.note(moment=moment)
        steps = scripted["steps"] or [{"say": "", "held": False, "cut": "never"}]
        return steps[min(turn, len(steps) - 1)]

    async def released(self):
        while not self._read()["released"]:
            await asyncio.sleep(0.01)

    async def serve(self, server):
        """For ever, once the port is told: the file appears whole."""
        port = server.sockets[0].getsockname()[1]
        (self._folder / "port.next").write_text(str(port))
        os.replace(self._folder / "port.next", self._folder / "port")
        await server.serve_forever()

    def _read(self):
        return json.loads(self._file.read_bytes())
