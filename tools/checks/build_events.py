"""Reads what Bazel says about a test run and counts test cases, so that nothing is lost between them.

Bazel counts targets; people want cases. The build event file names every test that was asked for
and where each result lies, cached results included, so a test that never got as far as a result
(it did not build, the run was interrupted) is a failure here and not an omission.
"""

import collections
import json
import os
import urllib.parse
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

# How the reason of a skipped case begins that needs something which nobody has to have (tests/provided.py).
NOT_RUN = "not run: "

# A retried or repeated test has one result for each of these; the last attempt counts.
Run = collections.namedtuple("Run", "label run shard")


@dataclass
class Failure:
    name: str
    log: str = ""  # path of the output that explains it, "" without one
    text: str = ""  # the explanation itself, where there is no file


@dataclass
class Verdict:
    passed: int = 0
    failures: list = field(default_factory=list)  # of Failure
    skipped: list = field(default_factory=list)  # of names
    not_run: list = field(default_factory=list)  # of names with what they need, which may be missing

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skipped += other.skipped
        self.not_run += other.not_run

    def count_skips_as_failures(self):
        self.failures += [Failure(name + " (skipped)") for name in self.skipped]
        self.skipped = []

    def summary(self):
        line = f"{self.passed} passed, {len(self.failures)} failed"
        return line + (f", {len(self.skipped)} skipped" if self.skipped else "")


class TagFilter:
    """The same choice as Bazel's --test_tag_filters: "a,-b" is tagged a and not tagged b."""

    def __init__(self, text=""):
        words = [word for word in text.split(",") if word]
        self.required = {word for word in words if not word.startswith("-")}
        self.excluded = {word[1:] for word in words if word.startswith("-")}

    def accepts(self, tags):
        tags = set(tags)
        if self.required and not self.required & tags:
            return False
        return not self.excluded & tags


@dataclass
class Result:
    attempt: int
    status: str
    outputs: dict  # name -> path


@dataclass
class Events:
    tests: dict = field(default_factory=dict)  # label -> tags, of every test asked for
    results: dict = field(default_factory=dict)  # Run -> Result
    build_failures: list = field(default_factory=list)  # of Failure: targets that are not tests
    exit_name: str = ""  # "SUCCESS", "TESTS_FAILED", ...; "" if Bazel died before it could say


def read_events(lines):
    """Events of the lines of a --build_event_json_file; a torn last line is ignored."""
    events = Events()
    explanations = {}
    incomplete = []
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        identity = event.get("id", {})
        if "targetConfigured" in identity and "configured" in event:
            configured = event["configured"]
            if "testSize" in configured:
                events.tests[identity["targetConfigured"]["label"]] = configured.get("tag", [])
        elif "testResult" in identity and "testResult" in event:
            _add_result(events, identity["testResult"], event["testResult"])
        elif "actionCompleted" in identity and "action" in event:
            action = event["action"]
            label = identity["actionCompleted"].get("label", "")
            if not action.get("success"):
                explanations.setdefault(label, _path(action.get("stderr", {}).get("uri", "")))
        elif "targetCompleted" in identity:
            if not event.get("completed", {}).get("success"):
                incomplete.append(identity["targetCompleted"]["label"])
        elif "buildFinished" in identity and "finished" in event:
            events.exit_name = event["finished"].get("exitCode", {}).get("name", "")
    with_result = {run.label for run in events.results}
    for label in incomplete:
        # A target whose own action failed explains itself; the ones above it only follow.
        if label not in events.tests and label not in with_result:
            events.build_failures.append(Failure(label + " (did not build)", explanations.get(label, "")))
    events.explanations = explanations
    return events


def judge(events, tag_filter=TagFilter(), read_file=None):
    """The Verdict on `events`. `read_file(path)` gives a result's XML as bytes, OSError if it is gone."""
    read_file = read_file or _read_file
    verdict = Verdict()
    for run, result in sorted(events.results.items()):
        verdict.add(_judge_result(run, result, read_file))
    with_result = {run.label for run in events.results}
    for label, tags in sorted(events.tests.items()):
        if label not in with_result and tag_filter.accepts(tags):
            verdict.failures.append(Failure(label + " (did not build or run)", events.explanations.get(label, "")))
    verdict.failures += events.build_failures
    if not verdict.failures and events.exit_name not in ("SUCCESS", "NO_TESTS_FOUND"):
        verdict.failures.append(Failure(f"bazel ended with {events.exit_name or 'no word'}"))
    return verdict


def cases(xml):
    """(name, state) of each case of a JUnit file; state is "passed", "failed", "skipped", or why it was "not run: "."""
    found = []
    for case in ElementTree.fromstring(xml).iter("testcase"):
        suite = case.get("classname")
        name = f"{suite}.{case.get('name')}" if suite else case.get("name")
        if case.find("failure") is not None or case.find("error") is not None:
            state = "failed"
        elif (case.find("skipped") is not None or case.get("status") == "notrun"
              or case.get("result") == "skipped"):
            reason = case.find("skipped").get("message", "") if case.find("skipped") is not None else ""
            state = reason if reason.startswith(NOT_RUN) else "skipped"
        else:
            state = "passed"
        found.append((name, state))
    return found


def _judge_result(run, result, read_file):
    verdict = Verdict()
    log = result.outputs.get("test.log", "")
    try:
        found = cases(read_file(result.outputs.get("test.xml", "")))
    except (OSError, ElementTree.ParseError):
        found = None  # killed while it wrote, or it wrote nothing
    # Bazel writes the file of a program that does not: one case, named after the target.
    own = run.label.replace("//", "").replace(":", "/")
    for name, state in found or []:
        full = run.label if name == own else f"{run.label} {name}"
        if state == "passed":
            verdict.passed += 1
        elif state == "failed":
            verdict.failures.append(Failure(full, log))
        elif state.startswith(NOT_RUN):
            verdict.not_run.append(f"{full}: {state[len(NOT_RUN):]}")
        else:
            verdict.skipped.append(full)
    if result.status in ("PASSED", "FLAKY"):
        if not found:
            verdict.failures.append(Failure(run.label + " (has no test case)", log))
    elif not verdict.failures:
        # It crashed, ran out of time or leaked after its last case.
        verdict.failures.append(Failure(f"{run.label} ({result.status.lower()})", log))
    return verdict


def _add_result(events, identity, result):
    run = Run(identity["label"], identity.get("run", 1), identity.get("shard", 1))
    attempt = identity.get("attempt", 1)
    known = events.results.get(run)
    if known and known.attempt > attempt:
        return
    outputs = {output.get("name"): _path(output.get("uri", ""))
               for output in result.get("testActionOutput", [])}
    events.results[run] = Result(attempt, result.get("status", "NO_STATUS"), outputs)


def _path(uri):
    parsed = urllib.parse.urlparse(uri)
    return urllib.parse.unquote(parsed.path) if parsed.scheme == "file" else ""


def _read_file(path):
    if not path or not os.path.exists(path):
        raise FileNotFoundError(path)
    with open(path, "rb") as file:
        return file.read()
