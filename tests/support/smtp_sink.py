"""The server of smtp_sink.h: aiosmtpd on a free port of 127.0.0.1, told by a script what to do at each step."""
import asyncio
import pathlib
import sys

from aiosmtpd.smtp import SMTP

from smtp_script import Script


class Sink:
    """What all connections share."""

    def __init__(self, folder):
        self.script = Script(folder)
        self._folder = folder
        self._taken = 0

    async def answer(self, connection, moment, usual, on_yes=lambda: None):
        step = self.script.next_step(moment)
        reply = step["say"] or usual
        if reply.startswith("2"):
            on_yes()
        if step["held"]:
            await self.script.released()
        if step["cut"] == "before":
            await connection.cut()
        connection.ends = step["cut"] == "after"
        return reply

    def keep(self, envelope):
        self._taken += 1
        name = "mail-%d" % self._taken
        (self._folder / name).write_bytes(envelope.original_content)
        self.script.note(mail=name, recipients=envelope.rcpt_tos, **{"from": envelope.mail_from})

    async def handle_HELO(self, connection, session, envelope, name):
        session.host_name = name
        return await self.answer(connection, "EHLO", "250 sink.test")

    async def handle_EHLO(self, connection, session, envelope, name, offers):
        session.host_name = name
        return [await self.answer(connection, "EHLO", "\r\n".join(offers))]

    async def handle_MAIL(self, connection, session, envelope, address, options):
        envelope.mail_options.extend(options)
        return await self.answer(connection, "MAIL", "250 2.1.0 Ok", lambda: setattr(envelope, "mail_from", address))

    async def handle_RCPT(self, connection, session, envelope, address, options):
        moment = "RCPT " + address.lower()
        return await self.answer(connection, moment, "250 2.1.5 Ok", lambda: envelope.rcpt_tos.append(address))

    async def handle_DATA(self, connection, session, envelope):
        usual = "250 2.0.0 Ok: queued as sink-%d" % (self._taken + 1)
        return await self.answer(connection, ".", usual, lambda: self.keep(envelope))


class Connection(SMTP):
    """Adds the two moments for which aiosmtpd has no hook, and the cuts."""
    greeted = False
    ends = False

    async def push(self, status):
        if not self.greeted:
            self.greeted = True
            status = await self.event_handler.answer(self, "greeting", status)
        await super().push(status)
        if self.ends:
            await self.cut()

    async def smtp_DATA(self, arg):
        go_ahead = "354 go ahead"
        reply = await self.event_handler.answer(self, "DATA", go_ahead)
        await (super().smtp_DATA(arg) if reply == go_ahead else self.push(reply))

    async def cut(self):
        self.transport.close()  # with what was written
        await asyncio.Future()  # until the loss of the connection cancels us


async def main(folder):
    sink = Sink(folder)
    make = lambda: Connection(sink, hostname="sink.test", ident="sink", enable_SMTPUTF8=True, data_size_limit=64 << 20)
    await sink.script.serve(await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0))


asyncio.run(main(pathlib.Path(sys.argv[1])))
