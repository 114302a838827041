"""Puts the project's headers that a header includes into its text, each once.

    inline_header.py OUTPUT HEADER FILE...

Clang stores the place of each file of a precompiled header, and Bazel's sandbox is at another place each
time. A text without files of ours has no such place. `FILE` are those that may be included; their names
end with what stands in the #include. Lines keep their names and numbers (#line).
"""

import re
import sys

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def inline(path, name, find, done):
    """The lines of the file at `path`. `find(name)` says where an included file is, None if it is not ours."""
    done.add(name)
    lines = [f'#line 1 "{name}"']
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            match = _INCLUDE.match(line)
            place = find(match.group(1)) if match else None
            if place is None:
                lines.append(line)
            elif match.group(1) not in done:
                lines += inline(place, match.group(1), find, done)
                lines.append(f'#line {number + 1} "{name}"')
            else:
                lines.append("")
    return lines


def main(output, header, *files):
    def find(name):
        return next((file for file in files if file == name or file.endswith("/" + name)), None)

    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(inline(header, header, find, set())) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
