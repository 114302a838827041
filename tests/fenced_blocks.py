"""The fenced blocks of a page in Markdown, and what a reader would do with each.

    ```sh               is run, as by a reader who types it
    ```python           is run by python3
    ```yaml             is a job file: `yard launch --dry_run` takes it
    ```json             is one JSON value
    ```sh file=NAME     is written to NAME for the blocks behind it, whatever its language

Any other language, `text` first of all, is only shown.
"""

import collections
import re

RUN = ("sh", "python", "yaml", "json")

# `file` is empty where the block is no file; `line` is that of the fence, from 1.
Block = collections.namedtuple("Block", "language file line text")

# Behind a prompt and NAME=value words.
_TYPED = re.compile(r"""\ *(\$\ )?(\w+=("[^"]*"|'[^']*'|\S)*\ +)*
                    (yard\ [a-z]+(\ |$)|tools/\w|(docker|docker-compose|bazel|systemctl|pip|python3|curl|cp)\ )""", re.VERBOSE)
_FENCE = re.compile(r"```(\w*)(?: file=([\w.-]+))?$")


class PageError(Exception):
    """A fence that this does not know, or without an end."""


def blocks(text):
    """All blocks, in their order."""
    found, current, lines = [], None, []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("```"):
            lines.append(line)
        elif current is None:
            fence = _FENCE.match(line)
            if not fence:
                raise PageError("line %d: cannot read the fence %r" % (number, line))
            current, lines = (fence[1], fence[2] or "", number), []
        else:
            if line != "```":
                raise PageError("line %d: the block of line %d has no end" % (number, current[2]))
            found.append(Block(*current, "".join(part + "\n" for part in lines)))
            current = None
    if current is not None:
        raise PageError("the block of line %d has no end" % current[2])
    return found


def runs(block):
    """Whether something is done with it."""
    return block.file != "" or block.language in RUN


def shown_commands(text):
    """The commands that a reader might type and nothing runs: those in indented or shown blocks; C++, by its first
    line."""
    found, fenced, before, indented = [], None, "", False
    kinds = {block.line: runs(block) for block in blocks(text)}
    programs = {block.line + 1 for block in blocks(text) if block.language == "cpp" and not runs(block)}
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fenced = None if fenced is not None else kinds[number]
            indented, before = False, ""
            continue
        if number in programs:
            found.append(line.strip())
        # Four columns behind an empty line begin a block; what is deeper in a list is none.
        indented = line.startswith("    ") and (indented or not before.strip())
        if (fenced is False or (fenced is None and indented)) and _TYPED.match(line):
            found.append(line.strip())
        before = line
    return found
