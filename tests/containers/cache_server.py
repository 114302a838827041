"""Bazel's disk cache for builds that cannot see the folder: they are given its URL as --remote_cache.

    python3 -m tests.containers.cache_server     serves the cache of .bazelrc on this machine until Ctrl-C
"""

import http.server
import pathlib
import re
import shutil
import threading

DISK_CACHE = pathlib.Path.home() / ".cache/trainyard/bazel"  # .bazelrc
_ENTRY = re.compile(r"/(ac|cas)/([0-9a-f]{2})([0-9a-f]{62})")


class CacheServer:
    """Entered, it serves a --disk_cache at `url`: on the loopback, to be read only. `found` counts the actions that
    were asked for and were there, `missing` those that were not there."""

    def __init__(self, folder=DISK_CACHE):
        self.found = self.missing = 0
        self._folder = pathlib.Path(folder)
        self._lock = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # Bazel keeps its connections.

            def do_GET(self):
                outer._answer(self)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = "http://127.0.0.1:%d" % self._server.server_port

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, request):
        entry = _ENTRY.fullmatch(request.path)
        file = entry and self._open(*entry.groups())
        request.send_response(200 if file else 404)
        if not file:
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        with file:
            request.send_header("Content-Length", str(file.seek(0, 2)))
            request.end_headers()
            file.seek(0)
            shutil.copyfileobj(file, request.wfile)

    def _open(self, kind, first, rest):
        try:
            file = open(self._folder / kind / first / (first + rest), "rb")
        except OSError:
            file = None
        if kind == "ac":
            with self._lock:
                self.found += file is not None
                self.missing += file is None
        return file


if __name__ == "__main__":
    with CacheServer() as server:
        print(server.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
