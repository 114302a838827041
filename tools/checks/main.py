"""The command line of tools/test: which stages to run, and how to say what they found."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

from tools.checks import changed, room
from tools.checks import stages as stages_module
from tools.checks.build_events import Failure, Verdict
from tools.checks.interruption import Interruption

CONFIGS = ["default", "long", "gcc", "asan", "tsan", "fuzz"]
CHECKS = ["layers", "format", "pages", "install", "packages", "containers", "tidy"]
USUAL = ["layers", "format", "pages", "default"]
# Stages whose tests talk to programs of other projects.
NEEDS_PEERS = {"default", "long", "asan", "tsan"}

_LINES_OF_A_FAILURE = 40
_EXPLAINED_FAILURES = 20

_EXAMPLES = """examples:
  tools/test                       layers, format, pages, and all tests in the default configuration
  tools/test --long                everything there is
  tools/test --changed HEAD        the tests that what is not committed can have touched
  tools/test --config=tsan //bus/...
                                   one configuration of one folder

configurations (--config):
  default  optimised, assertions on; without tests tagged `long`. Clang also analyses thread safety, and sees
           that each used header is a direct dependency
  long     the tests tagged `long`: kills, load, soak
  gcc      everything, built by the other compiler and without precompiled headers
  asan     address and undefined-behaviour sanitizers, leaks; for tests of what is compiled
  tsan     thread sanitizer, for tests with a program that can have a second thread
  fuzz     libFuzzer on each fuzz target for a few seconds

checks (--check):
  layers   no folder uses one above or beside it, and each interface has two implementations or a reason
  format   clang-format has nothing to change
  pages    links, labels, C++, quoted errors and named tests of the documentation are there
  install  what tools/install makes runs without the checkout; tools/quickstart trains
  packages what tools/package makes is the same each time, small, and runs on older systems
  containers
           docker-compose.yml runs, and each of its containers can be killed; packages are installed and used
  tidy     the short list of .clang-tidy
"""


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="tools/test", epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Builds and checks the tree, and ends with a line `N passed, N failed` of test cases. "
        "With CI=true a skipped test counts as failed, but not one whose line says `not run`: docs/build.md has "
        "the variables that give it what it needs.")
    parser.add_argument("--long", action="store_true", help="every configuration and every check")
    parser.add_argument("--config", action="append", default=[], choices=CONFIGS, help="only this one (repeatable)")
    parser.add_argument("--check", action="append", default=[], choices=CHECKS, help="only this one (repeatable)")
    parser.add_argument("--changed", metavar="REV", help="only tests that can have been touched by what differs from "
                        "the commit REV (a short loop while developing; .ci/run runs all of them)")
    parser.add_argument("targets", nargs="*", default=["//..."], help="Bazel target patterns (default: //...)")
    options = parser.parse_args(arguments)
    if options.long and (options.config or options.check):
        parser.error("--long is everything; leave out --config and --check")
    return options


def chosen(options, order):
    """The names of the stages to run, in the order in which they are run."""
    wanted = CONFIGS + CHECKS if options.long else options.config + options.check or USUAL
    return [name for name in order if name in wanted]


def minutes(durations):
    """One line: the minutes that the stages took together, and those of each, the longest first."""
    longest_first = sorted(durations.items(), key=lambda stage: -stage[1])
    return (f"took {sum(durations.values()) / 60:.1f} min: " +
            ", ".join(f"{name} {seconds / 60:.1f}" for name, seconds in longest_first))


def report(verdict, write, ci=False):
    """Writes what was skipped, what failed with its explanation, and the count as the last line."""
    for name in verdict.not_run:
        write(f"not run: {name}")
    for name in verdict.skipped:
        write(f"skipped: {name}")
    if ci:
        verdict.count_skips_as_failures()
    explained = verdict.failures[:_EXPLAINED_FAILURES]
    shown = set()
    for failure in explained:
        text = _explanation(failure)
        if text and text not in shown:
            shown.add(text)
            write(f"\n---- {failure.name}" + (f"  ({failure.log})" if failure.log else ""))
            write(text)
    if verdict.failures:
        write("")
    for failure in verdict.failures:
        write(f"failed: {failure.name}")
    write(verdict.summary())


def _explanation(failure):
    if failure.text:
        lines = failure.text.splitlines()
        hidden = len(lines) - 3 * _LINES_OF_A_FAILURE
        return "\n".join(lines[: 3 * _LINES_OF_A_FAILURE] + ([f"... and {hidden} lines more"] if hidden > 0 else []))
    if not failure.log:
        return ""
    return stages_module.case_output(failure.log, failure.name.split(" ")[-1], _LINES_OF_A_FAILURE)


def _say(line):
    print(line, flush=True)


class Peers:
    """Installs the peers while something else is compiled, and sets YARD_PEERS for the tests.

    Without it, a test that needs a peer fails or skips itself. `words` go with the program.
    """

    def __init__(self, say, program="tools/peers", words=()):
        self._say = say
        self._output = tempfile.TemporaryFile(mode="w+", encoding="utf-8")
        self._begin = time.monotonic()
        self._process = subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=self._output,
                                         stderr=subprocess.STDOUT)

    def are_there(self):
        return self._process is None or self._process.poll() is not None

    def wait(self):
        if self._process is None:
            return
        code = self._process.wait()
        self._process = None
        self._output.seek(0)
        said = self._output.read().strip()
        self._output.close()
        os.environ.pop("YARD_PEERS", None)
        if code == 0:
            os.environ["YARD_PEERS"] = said.splitlines()[-1]
            self._say(f"peers: there  ({time.monotonic() - self._begin:.0f} s, beside the rest)")
        else:
            self._say(said)
            self._say("peers: going on without; tests that need one cannot pass")


def touched(targets, revision, say):
    """The tests among `targets` that a change since `revision` can have touched; RuntimeError if that cannot be told."""
    files = changed.files_since(revision)
    tests = changed.tests_touched(files, targets, lambda *words: subprocess.run(
        ["/usr/bin/bazel", *words], capture_output=True, text=True, check=False))
    number = "every test program" if tests is None else f"{len(tests)} test programs"
    say(f"changed: {len(files)} files since {revision} can have touched {number}")
    return targets if tests is None else tests


def run_stage(stages, name, say, durations):
    """Runs a stage, says what came of it, and notes in `durations` the seconds it took, by its name."""
    start = time.monotonic()
    try:
        verdict = stages.run(name)
    except (RuntimeError, OSError) as error:
        verdict = Verdict(failures=[Failure(name, text=str(error))])
    durations[name] = time.monotonic() - start
    say(f"{name}: {verdict.summary()}  ({durations[name]:.0f} s)")
    # The report explains them; that may be hours away.
    for failure in verdict.failures:
        say(f"  {failure.name}")
    return verdict


def main(arguments, bazel="/usr/bin/bazel"):
    options = parse(arguments)
    Interruption().install()
    logs = tempfile.mkdtemp(prefix="trainyard-test-")
    verdict = Verdict()
    durations = {}
    peers = None
    try:
        targets = touched(options.targets, options.changed, _say) if options.changed else options.targets
        stages = stages_module.Stages(targets, logs, _say, bazel,
                                      peers_are_there=lambda: peers is None or peers.are_there(),
                                      await_peers=lambda: peers and peers.wait())
        names = chosen(options, stages.by_name)
        if not targets:
            names = [name for name in names if name not in CONFIGS]
        if NEEDS_PEERS & set(names):
            peers = Peers(_say, words=["--long"] if "long" in names else [])
        for name in names:
            if name in CONFIGS:
                room.usual(_say).make()
            verdict.add(run_stage(stages, name, _say, durations))
    except KeyboardInterrupt:
        verdict.failures.append(Failure("interrupted"))
    except RuntimeError as error:
        verdict.failures.append(Failure("changed", text=str(error)))
    if len(durations) > 1:
        _say(minutes(durations))
    report(verdict, _say, ci=os.environ.get("CI") == "true")
    if not verdict.failures:
        shutil.rmtree(logs)
    return 1 if verdict.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
