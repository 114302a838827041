"""The pages of docs/ that are written by a program: from the command line and from the schemas.

    python3 -m tools.references.pages YARD [FOLDER]

writes them into FOLDER (docs); YARD is the program.
"""

import json
import pathlib
import subprocess
import sys

from tools.references import protocol

# The pages do not depend on who writes them.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/"}
SCHEMAS = ("envelope", "common", "registry", "launcher", "trainer", "datamanager")
MEND = "tools/reference"
_WRITTEN_BY = "This page is written by `%s` from %s.\n"


def run(yard, *words):
    """The output of the command."""
    tool = subprocess.run([yard, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          env=_ENVIRONMENT, timeout=60, check=True)
    return tool.stdout


def verbs(yard):
    """Their names, in the order of `yard --help`."""
    lines = run(yard, "--help").split("\n")
    first = lines.index("Verbs:") + 1
    return [line.split()[0] for line in lines[first:lines.index("", first)] if line.startswith("  ")]


def commands(yard):
    """docs/commands.md"""
    parts = ["# Commands\n\n" + _WRITTEN_BY % (MEND, "what each verb says of itself") +
             "What stands behind a line of help is in [cli.md](cli.md).\n",
             _help(yard, "--help")]
    for verb in verbs(yard):
        parts.append("## %s\n\n%s" % (verb, _help(yard, verb, "--help")))
    return "\n".join(parts)


def _help(yard, *words):
    return "```text\n%s\n```\n" % run(yard, *words).strip("\n")


def job_file(yard):
    """docs/job_file_reference.md"""
    keys = [json.loads(line) for line in run(yard, "launch", "--keys", "--json").splitlines()]
    parts = ["# Job file reference\n\n" + _WRITTEN_BY % (MEND, "`yard launch --keys`") +
             "How the keys go together, and how values are written, is in [jobs.md](jobs.md).\n"]
    for of, title in (("job", "Keys of a job"), ("task type", "Keys of a task type")):
        rows = ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
        rows += ["| `%(key)s` | %(type)s | %(default)s | %(meaning)s |" % key
                 for key in keys if key["of"] == of]
        parts.append("## %s\n\n%s\n" % (title, "\n".join(rows)))
    return "\n".join(parts)


def protocol_page(folder="bus/schema"):
    """docs/protocol_reference.md"""
    schemas = [protocol.parse(name, (pathlib.Path(folder) / (name + ".fbs")).read_text())
               for name in SCHEMAS]
    return ("# Protocol reference\n\n" + _WRITTEN_BY % (MEND, "`bus/schema/*.fbs`") +
            "What is promised of calls and events is in [bus.md](bus.md). Any method can be called by hand:\n"
            "`yard call SERVICE METHOD JSON`. Those of `Common` every service has.\n" +
            protocol.render(schemas))


def pages(yard):
    """All of them: {name in docs/: text}."""
    return {
        "commands.md": commands(yard),
        "job_file_reference.md": job_file(yard),
        "protocol_reference.md": protocol_page(),
    }


def main(yard, folder="docs"):
    for name, text in pages(yard).items():
        (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
        print("%s/%s: %d lines" % (folder, name, text.count("\n")))


if __name__ == "__main__":
    main(*sys.argv[1:])
