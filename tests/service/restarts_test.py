"""A host that is started anew ten times, on a socket that the service manager holds: no connection is refused or reset, every
request is answered, and what was acknowledged is delivered once.  O2"""
import collections
import json
import socket
import threading
import unittest

from service_world import Database, PATIENCE, World, eventually, target

REQUESTS, RESTARTS, CLIENTS, KEEPERS = 10_000, 10, 10, 2

AGAIN = None, 0, 503  # no answer, no connection, not now: what clients try again


def read_answer(connection):
    """The status of an answer, and whether the connection goes on. No status: it ended before the first byte."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            if data:
                raise ConnectionError("half an answer")
            return None, False
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    length = int(headers["content-length"])
    while len(body) < length:
        more = connection.recv(65536)
        if not more:
            raise ConnectionError("half an answer")
        body += more
    return int(lines[0].split()[1]), headers.get("connection", "").lower() != "close"


class Clients:
    """Hand in intents, each with a key of its own: REQUESTS with a connection for each, and meanwhile as many as they can on
    connections that they keep."""

    def __init__(self, port):
        self.port, self.lock, self.count, self.seen, self.acknowledged = port, threading.Lock(), 0, collections.Counter(), set()
        self.threads = [threading.Thread(target=self.come_anew) for _ in range(CLIENTS)]
        self.threads += [threading.Thread(target=self.stay, args=(i,)) for i in range(KEEPERS)]
        for thread in self.threads:
            thread.start()

    def take(self):
        with self.lock:
            self.count += 1
            return self.count - 1 if self.count <= REQUESTS else None

    def note(self, what):
        with self.lock:
            self.seen[what] += 1

    def come_anew(self):
        while (number := self.take()) is not None:
            self.hand_in("new-%d" % number, False, None)

    def stay(self, who):
        connection, number = None, 0
        while self.count < REQUESTS:
            connection = self.hand_in("kept-%d-%d" % (who, number), True, connection)
            number += 1
        if connection is not None:
            connection.close()

    def hand_in(self, key, keeps, connection):
        """Until it is answered; returns the connection if that may go on."""
        body = json.dumps({"intentId": key, "submissionTarget": "to.hook", "payload": {"n": key}}).encode()
        request = ("POST /v1/intents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n" %
                   (len(body), "" if keeps else "Connection: close\r\n")).encode() + body
        while True:
            is_new = connection is None
            way = "on a new connection: " if is_new else "on a kept connection: "
            try:
                connection = connection or socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
                connection.sendall(request)
                status, goes_on = read_answer(connection)
            except OSError as error:
                self.note(way + str(error))
                status, goes_on = 0, False
            else:
                self.note(way + ("no answer" if status is None else str(status)))
            if not goes_on and connection is not None:
                connection.close()
                connection = None
            if status in (200, 201, 202):
                with self.lock:
                    self.acknowledged.add(key)
            if status not in AGAIN:
                return connection

    def end(self, test, host):
        """All were answered, and what was acknowledged is delivered once."""
        for thread in self.threads:
            thread.join()
        print(dict(self.seen))  # for whoever wants to know
        answered = {"on a new connection: 200", "on a kept connection: 200"}
        test.assertEqual(set(self.seen) - {"on a kept connection: no answer"}, answered, self.seen)
        test.assertEqual(sum(self.seen[way] for way in answered), len(self.acknowledged))
        test.assertGreaterEqual(len(self.acknowledged), REQUESTS)
        wanted = collections.Counter(self.acknowledged)
        eventually(lambda: test.receiver.count("/hook") >= len(wanted), "deliveries")
        test.assertEqual(host.stop(), 0, host.log())
        test.assertEqual(collections.Counter(json.loads(body)["n"] for _, body in test.receiver.of("/hook")), wanted)


class Restarts(World):
    def test_ten_restarts_refuse_and_lose_nothing(self):
        database = Database(self)
        self.write_plain_config(database)
        self.write_registry(target("to.hook", "webhook", self.receiver.url + "/hook", "gone"))
        host = self.plainly()
        self.manager.hears("READY=1", host)
        clients = Clients(self.port)
        for restart in range(1, RESTARTS + 1):
            eventually(lambda: clients.count >= restart * REQUESTS // (RESTARTS + 1), "requests")
            self.assertEqual(host.stop(), 0, host.log())
            self.manager.forget()
            host = self.plainly()
            self.manager.hears("READY=1", host)
        clients.end(self, host)


if __name__ == "__main__":
    unittest.main()
