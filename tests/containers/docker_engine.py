"""A Docker engine for tests: the one that runs, else one of our own, of which only the bridge docker0 stays."""

import os
import subprocess
import tempfile
import time

BASE_IMAGE = "debian:bookworm-slim"
_SECONDS = 120  # For the engine to start or stop.
# Debian's client builds by itself; another one that is first on PATH may need a plugin for it.
_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"


class DockerEngine:
    """`run` returns what a command prints; one that fails raises with it. `attempt` returns how it ended."""

    def __init__(self):
        self._directory = tempfile.TemporaryDirectory(prefix="trainyard-docker-", dir="/var/tmp")
        self._process = None
        self.environment = {"PATH": _PATH, "HOME": self._directory.name, "DOCKER_BUILDKIT": "1",
                            "DOCKER_HOST": os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")}

    def __enter__(self):
        try:
            if not self._answers():
                self._start()
            self._provide_base_image()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._unmount()
        self._directory.cleanup()

    def _unmount(self):
        """The engine leaves the host's network mounted, if a container had that."""
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
            places = [line.split()[1] for line in mounts]
        for place in reversed(places):
            if place.startswith(self._directory.name + "/"):
                self.attempt("umount", place)

    def attempt(self, *words, environment=None, timeout=600, **options):
        return subprocess.run(words, env={**self.environment, **(environment or {})}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=timeout, check=False, **options)

    def run(self, *words, **options):
        answer = self.attempt("docker", *words, **options)
        if answer.returncode != 0:
            raise AssertionError("docker %s ended with %d: %s" % (" ".join(words), answer.returncode, answer.stdout))
        return answer.stdout

    def import_folder(self, folder, image):
        """An image of the files of a folder."""
        with subprocess.Popen(["tar", "-C", folder, "-c", "."], env=self.environment, stdout=subprocess.PIPE) as tar:
            answer = subprocess.run(["docker", "import", "-", image], env=self.environment, stdin=tar.stdout,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if answer.returncode != 0 or tar.returncode != 0:
            raise AssertionError("cannot import %s as %s: %s" % (folder, image, answer.stdout))

    def _answers(self):
        try:
            return self.attempt("docker", "info", timeout=10).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def _start(self):
        place = self._directory.name
        self.environment["DOCKER_HOST"] = "unix://" + place + "/socket"
        log_path = place + "/log"
        with open(log_path, "wb") as log:
            # The machine's rules for packets are not ours to change: builds use its own network.
            self._process = subprocess.Popen(
                ["dockerd", "--host", self.environment["DOCKER_HOST"], "--data-root", place + "/data",
                 "--exec-root", place + "/exec", "--pidfile", place + "/pid", "--iptables=false", "--ip-masq=false",
                 "--userland-proxy=false"],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + _SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() >= deadline:
                with open(log_path, encoding="utf-8", errors="replace") as log:
                    raise AssertionError("cannot start a Docker engine: " + "".join(log.readlines()[-20:]))

    def _provide_base_image(self):
        """From Debian's packages, if the engine does not have it."""
        if self.attempt("docker", "image", "inspect", BASE_IMAGE).returncode == 0:
            return
        root = self._directory.name + "/root"
        made = self.attempt("debootstrap", "--variant=minbase", "bookworm", root, timeout=1200)
        if made.returncode != 0:
            raise AssertionError("debootstrap ended with %d: %s" % (made.returncode, made.stdout[-4000:]))
        self.import_folder(root, BASE_IMAGE)
        self.attempt("rm", "-rf", root)
