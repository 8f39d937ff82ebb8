"""The policy server of postfix.h: Postfix asks it about every recipient, and it answers by script."""
import asyncio
import pathlib
import sys

from smtp_script import Script


async def converse(script, reader, writer):
    try:
        while True:
            request = (await reader.readuntil(b"\n\n")).decode()
            about = dict(line.split("=", 1) for line in request.splitlines() if line)
            step = script.next_step("RCPT " + about["recipient"].lower())
            if step["held"]:
                await script.released()
            writer.write(("action=%s\n\n" % (step["say"] or "DUNNO")).encode())
    except asyncio.IncompleteReadError:  # Postfix has closed the connection
        writer.close()


async def main(folder):
    script = Script(folder)
    await script.serve(await asyncio.start_server(lambda *streams: converse(script, *streams), "127.0.0.1", 0))


asyncio.run(main(pathlib.Path(sys.argv[1])))
