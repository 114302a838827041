"""How each C++ file is compiled, in the form that clang's tools read.

    python3 -m tools.checks.compile_commands FILE
"""

import json
import os
import subprocess
import sys

# Flags that gcc understands and clang does not.
_GCC_ONLY = {"-fno-canonical-system-headers", "-Wno-free-nonheap-object", "-Wunused-but-set-parameter"}


def compile_commands(aquery, directory, output_path):
    """The database as a list.

    `aquery` is the parsed answer of `bazel aquery --output=jsonproto`, `directory` the checkout, and
    `output_path` where the `bazel-out` of the commands really is. A header found there is generated:
    it is given as a system header, so that nobody is warned about code that nobody wrote.
    """
    commands = {}
    for action in aquery.get("actions", []):
        arguments = [argument for argument in action.get("arguments", []) if argument not in _GCC_ONLY]
        # Each file has to stand on what it includes, and a tool of another release refuses a precompiled header.
        while "-include-pch" in arguments:
            place = arguments.index("-include-pch")
            del arguments[place:place + 2]
        if "-c" not in arguments:
            continue
        source = arguments[arguments.index("-c") + 1]
        if source.startswith(("external/", "bazel-out/")):
            continue
        commands.setdefault(source, {
            "directory": directory,
            "file": source,
            "arguments": _relocate(arguments, output_path) + ["-Wno-unknown-warning-option"],
        })
    return [commands[source] for source in sorted(commands)]


def _relocate(arguments, output_path):
    relocated = []
    for argument in arguments:
        if argument.startswith("bazel-out/"):
            if relocated and relocated[-1] == "-iquote":
                relocated[-1] = "-isystem"
            argument = output_path + argument[len("bazel-out"):]
        relocated.append(argument)
    return relocated


def write(path, bazel):
    """Writes the database of the whole checkout to `path`; RuntimeError if Bazel does not answer."""
    query = bazel("aquery", "--output=jsonproto", "--include_artifacts=false", "--noshow_progress",
                  "--keep_going", 'mnemonic("CppCompile", //...)')
    output_path = bazel("info", "output_path")
    if not query.stdout or output_path.returncode != 0:
        raise RuntimeError("bazel cannot list the compile commands: " + query.stderr.strip())
    database = compile_commands(json.loads(query.stdout), os.getcwd(), output_path.stdout.strip())
    with open(path, "w", encoding="utf-8") as file:
        json.dump(database, file, indent=1)
    return database


def _bazel(*args):
    return subprocess.run(["/usr/bin/bazel", *args], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    try:
        print(f"compile_commands: {len(write(sys.argv[1], _bazel))} files in {sys.argv[1]}")
    except RuntimeError as error:
        sys.exit(f"compile_commands: {error}")
