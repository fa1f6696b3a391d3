"""Serves Keystone's public application, as the Debian package installs it, until a signal stops it.

Arguments: the folder with keystone.conf, and the port. Prints a line once the port accepts connections.
"""

import os
import sqlite3
import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

del sys.path[0]  # this folder, because Python would import this file as keystone
folder, port = sys.argv[1], int(sys.argv[2])
sys.argv = sys.argv[:1]  # Keystone would parse the other arguments
os.environ["OS_KEYSTONE_CONFIG_DIR"] = folder
# Threads of the server read while other threads write. SQLite allows this only in WAL mode.
sqlite3.connect(os.path.join(folder, "keystone.db")).execute("PRAGMA journal_mode = WAL")

from keystone.server.wsgi import initialize_public_application  # noqa: E402


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 128


class Handler(WSGIRequestHandler):
    def log_message(self, *_arguments):
        pass


server = make_server("127.0.0.1", port, initialize_public_application(), Server, Handler)
print("listening", flush=True)
server.serve_forever()
