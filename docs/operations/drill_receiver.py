"""The destinations of drill.sh: takes HTTP and mail, as the file `mode` of its folder says, and notes in `received` what it took."""
import http.server
import os
import re
import socketserver
import sys
import threading
import time

folder = sys.argv[1]
lock = threading.Lock()


def mode():
    with open(os.path.join(folder, "mode")) as file:
        return file.read().strip()


def note(*words):
    with lock, open(os.path.join(folder, "received"), "a") as file:
        file.write(" ".join(words) + "\n")


class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        key = self.headers.get("webhook-id", "-")
        note("asked", key)
        while mode() == "hold":
            time.sleep(0.05)
        away = mode() == "away"
        if not away:
            note("took", key, body)
        try:
            self.send_response(503 if away else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()
        except OSError:
            pass  # the host that asked is dead

    def log_message(self, *_):
        pass


class Mail(socketserver.StreamRequestHandler):
    def handle(self):
        say = lambda text: self.wfile.write(text.encode() + b"\r\n")
        to = []
        say("220 drill")
        for line in iter(self.rfile.readline, b""):
            word, text = line[:4].upper(), line.decode("latin-1").strip()
            if word == b"RCPT" and "nobody@" in text:
                say("550 5.1.1 nobody of that name")
            elif word == b"RCPT":
                to.append(re.search("<(.*?)>", text)[1])
                say("250 ok")
            elif word == b"DATA":
                say("354 go ahead")
                lines = list(iter(self.rfile.readline, b".\r\n"))
                ids = [l.split(None, 1)[1].decode().strip() for l in lines if l.lower().startswith(b"message-id:")]
                note("mail", ids[0], *to)
                to = []
                say("250 ok")
            elif word == b"QUIT":
                return say("221 bye")
            else:
                say("250 ok")


class WebServer(http.server.ThreadingHTTPServer):
    request_queue_size = 128


class MailServer(socketserver.ThreadingTCPServer):
    daemon_threads = True


web, mail = WebServer(("127.0.0.1", 0), Web), MailServer(("127.0.0.1", 0), Mail)
threading.Thread(target=mail.serve_forever, daemon=True).start()
with open(os.path.join(folder, "ports.new"), "w") as file:
    file.write("%d %d\n" % (web.server_port, mail.server_address[1]))
os.rename(os.path.join(folder, "ports.new"), os.path.join(folder, "ports"))
web.serve_forever()
