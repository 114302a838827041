"""Which tests the address sanitizer is for: those that run something of ours that is compiled, less those that
docs/build.md leaves out with a reason."""

import re

# A row of the table in docs/build.md: a pattern of Bazel's, and why the tests are left out.
_ROW = re.compile(r"^\| `(//[^`]+)` \| .*\S.* \|$", re.MULTILINE)
# Where tests may be left out: what they run has tests of its own in the folders below.
_MAY_BE_LEFT_OUT = ("//bench", "//examples", "//tests")


def left_out(page):
    """The patterns of the table in the text of docs/build.md. RuntimeError if one may not be there."""
    patterns = _ROW.findall(page)
    for pattern in patterns:
        folder = re.split("[/:]", pattern[2:])[0]
        if "//" + folder not in _MAY_BE_LEFT_OUT or pattern.endswith("_fuzz_test"):
            raise RuntimeError(f"docs/build.md leaves out {pattern}, which has to run under the address sanitizer\n"
                               f"Next step: remove its row; only tests in {', '.join(_MAY_BE_LEFT_OUT)} may be left out, "
                               "and no fuzz target")
    return patterns


def tests_with(targets, page, bazel):
    """The tests among `targets` (Bazel's patterns) that have or run C++ of ours, less those that `page` leaves out.

    `bazel(*args)` runs Bazel in the checkout and gives a subprocess.CompletedProcess. RuntimeError if it cannot tell,
    or a row of the page names no test.
    """
    universe = " + ".join(targets)
    # (The libraries of //third_party are names for Debian's, which are not compiled here.)
    ours = "kind('cc_(library|binary|test) rule', //... except //third_party/...)"
    query = f"kind('_test rule', rdeps({universe}, {ours}))"
    for pattern in left_out(page):
        query += f" except {pattern}"
    answer = bazel("query", "--noshow_progress", "--noimplicit_deps", query)
    if answer.returncode != 0:
        raise RuntimeError("Bazel cannot tell which tests run what is compiled:\n" + answer.stderr.strip())
    return answer.stdout.split()
