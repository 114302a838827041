"""The stages that tools/test can run: each is one configuration or one check, and gives a Verdict."""

import os
import re
import subprocess
import tempfile
import time

from tools.checks import (build_events, compile_commands, compiled, containers, installed, interfaces, layers, packaged,
                          pages, plain_english, threads, tidy)
from tools.checks.build_events import Failure, Verdict

_HEARTBEAT_S = 60
_COLOUR = re.compile("\x1b\\[[0-9;]*[mK]")
# Bazel makes each test log a shell script that shows itself.
_LOG_HEADER = 'exec ${PAGER:-/usr/bin/less} "$0" || exit 1\n'


class Stages:
    """Runs stages in the checkout, which is the current folder.

    `targets` are Bazel's target patterns; `log_directory` gets the output of each stage; `say(line)`
    is told now and then how far a long stage is. The peers that tests need may still be on their way: `await_peers()`
    returns once they are there, and `peers_are_there()` tells without waiting.
    """

    def __init__(self, targets, log_directory, say, bazel="/usr/bin/bazel",
                 peers_are_there=lambda: True, await_peers=lambda: None):
        self._targets = targets
        self._peers_are_there = peers_are_there
        self._await_peers = await_peers
        self._log_directory = log_directory
        self._say = say
        self._bazel = bazel
        # In the order in which they are run: the ones with one compiler stand together.
        self.by_name = {
            "layers": self._layers,
            "format": self._format,
            "pages": self._pages,
            "default": lambda: self._tests("default", "-long"),
            "install": lambda: _one_case("install", installed.check(os.getcwd())),
            "packages": lambda: _one_case("packages", packaged.check(os.getcwd())),
            "containers": lambda: _one_case("containers", containers.check(os.getcwd())),
            "tidy": self._tidy,
            "long": lambda: self._tests("long", "long", "--build_tests_only"),
            "gcc": self._gcc,
            "asan": self._asan,
            "tsan": self._tsan,
            "fuzz": lambda: self._tests("fuzz", "fuzz", "--config=fuzz", "--build_tests_only"),
        }

    def run(self, name):
        return self.by_name[name]()

    def log_path(self, name):
        return os.path.join(self._log_directory, name + ".log")

    def _pages(self):
        texts = pages.check(tracked("*.md"), _programs(), tests=tracked("tests/*_test.*"))
        return _one_case("pages", texts + plain_english.complaints_of(tracked("*")))

    def _layers(self):
        sources = tracked_sources()
        return _one_case("layers", layers.check(self._ask_bazel, sources) + interfaces.complaints_of(sources))

    def _format(self):
        answer = subprocess.run(["clang-format-14", "--dry-run", "-Werror", *tracked_sources()],
                                capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            return Verdict(passed=1)
        files = sorted({line.split(":")[0] for line in answer.stderr.splitlines() if ": error: " in line})
        fix = ["Next step: clang-format-14 -i " + " ".join(files)] if files else []
        return _one_case("format", [answer.stderr.strip()] if not fix else files + fix)

    def _tests(self, name, tag_filter, *flags, targets=None):
        flags = ("--test_tag_filters=" + tag_filter, *flags)
        if not self._peers_are_there():
            self._run_bazel(name, "build", *flags, targets=targets)
        self._await_peers()
        events = self._run_bazel(name, "test", *flags, targets=targets)
        verdict = build_events.judge(events, build_events.TagFilter(tag_filter))
        for failure in verdict.failures:
            if not failure.log:
                failure.text = failure.text or errors(self.log_path(name))
            elif not failure.log.endswith("/test.log"):
                # The next command of Bazel removes the compiler's output.
                failure.text = tail(failure.log, 60) or errors(self.log_path(name))
        if name != "default":
            verdict.failures = [Failure(f"{name}: {f.name}", f.log, f.text) for f in verdict.failures]
            verdict.skipped = [f"{name}: {skipped}" for skipped in verdict.skipped]
            verdict.not_run = [f"{name}: {why}" for why in verdict.not_run]
        return verdict

    def _gcc(self):
        events = self._run_bazel("gcc", "build", "--config=gcc")
        return _one_case("gcc", [] if events.exit_name == "SUCCESS" else [errors(self.log_path("gcc"))])

    def _asan(self):
        with open("docs/build.md", encoding="utf-8") as page:
            tests = compiled.tests_with(self._targets, page.read(), self._ask_bazel)
        if not tests:
            self._say("asan: none of these tests runs what is compiled")
            return Verdict()
        return self._tests("asan", "-long", "--config=asan", "--build_tests_only", targets=tests)

    def _tsan(self):
        tests = threads.tests_with(tracked_sources(), self._targets, self._ask_bazel)
        if not tests:
            self._say("tsan: none of these tests has a program with a second thread")
            return Verdict()
        return self._tests("tsan", "-long", "--config=tsan", "--build_tests_only", targets=tests)

    def _tidy(self):
        sources = set(tracked_sources())
        with tempfile.TemporaryDirectory(prefix="trainyard-tidy-") as directory:
            database = compile_commands.write(os.path.join(directory, "compile_commands.json"), self._ask_bazel)
            commands = [command for command in database if command["file"] in sources]
            texts = tidy.complaints(commands, os.getcwd(), directory,
                                    tidy.Passed(os.path.join(_cache(), "tidy")), self._say)
        return _one_case("tidy", texts if commands else ["there is no file to check"])

    def _ask_bazel(self, *args):
        return subprocess.run([self._bazel, *args], capture_output=True, text=True, check=False)

    def _run_bazel(self, name, command, *flags, targets=None):
        events_path = os.path.join(self._log_directory, name + ".json")
        # Tests wait more than they compute: with one action more than there are processors, those are busy.
        jobs = str((os.cpu_count() or 1) + 1)
        arguments = [self._bazel, command, "--jobs=" + jobs, "--local_test_jobs=" + jobs, "--keep_going", "--color=no", "--curses=no", "--noshow_progress",
                     "--build_event_json_file=" + events_path, *flags, "--", *(targets or self._targets)]
        start = time.monotonic()
        with open(self.log_path(name), "w", encoding="utf-8") as log:
            with subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process:
                while True:
                    try:
                        process.wait(_HEARTBEAT_S)
                        break
                    except subprocess.TimeoutExpired:
                        minutes = round((time.monotonic() - start) / 60)
                        done = len(_read_events(events_path).results)
                        self._say(f"{name}: {minutes} min, {done} test programs done")
        return _read_events(events_path)


def _cache():
    """The folder of caches that outlives a checkout (tools/environment.sh)."""
    return os.environ.get("CACHE") or os.path.expanduser("~/.cache/trainyard")


def tracked_sources():
    """The C++ files under version control, as paths from the root."""
    return tracked("*.h", "*.cc")


def tracked(*patterns):
    """The files under version control with these names, as paths from the root."""
    # The checkout may belong to another user than the one who tests it (a container).
    answer = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z", *patterns],
                            capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise RuntimeError("git cannot list the files of the checkout: " + answer.stderr.strip())
    return [path for path in answer.stdout.split("\0") if path and os.path.exists(path)]


def _programs():
    """The files that say something to a user: no tests, nor what only tests and benchmarks use."""
    return [path for path in tracked("*.h", "*.cc", "*.py")
            if "_test." not in path and "/testing/" not in path and not path.startswith(("bench/", "tests/"))]


def tail(path, lines):
    """The last `lines` lines of a file, as text whatever its bytes are; "" if it cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 1024 * 1024))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    text = _COLOUR.sub("", text.rstrip().removeprefix(_LOG_HEADER))
    return "\n".join(text.splitlines()[-lines:])


def errors(path):
    """The errors in Bazel's own output, or its last lines if it has no errors."""
    lines = tail(path, 5000).splitlines()
    found = dict.fromkeys(line for line in lines if line.startswith(("ERROR:", "FATAL:")))
    return "\n".join(list(found)[:20]) or tail(path, 20)


def case_output(path, case, lines):
    """The part of a log about one GoogleTest case; the last lines of the log when the case is not marked in it."""
    try:
        with open(path, "rb") as file:
            text = file.read(16 * 1024 * 1024).decode("utf-8", "replace")
    except OSError:
        return ""
    begin = text.find(f"[ RUN      ] {case}\n")
    end = text.find(f"[  FAILED  ] {case}", begin)
    if begin < 0 or end < 0:
        return tail(path, lines)
    part = text[begin:end].rstrip().splitlines()[1:]
    if len(part) > lines:
        part = part[: lines // 2] + ["..."] + part[-(lines // 2):]
    return "\n".join(part)


def _one_case(name, complaints):
    if not complaints:
        return Verdict(passed=1)
    return Verdict(failures=[Failure(name, text="\n".join(complaints))])


def _read_events(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return build_events.read_events(file)
    except OSError:
        return build_events.read_events([])
