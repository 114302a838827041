"""Measures the cost of scalar series: instructions, which no load of the machine moves, and memory.

The work is done twice under callgrind, once with more of it; the difference is what a point or an
answer costs, without what a process costs.
"""

import os
import re
import shutil
import subprocess
import unittest

import xml_runner

WORK = os.path.join(os.environ["TEST_SRCDIR"], "yard/datamanager/series_work")
# Under a sanitizer the counts say nothing.
IS_COUNTED = os.environ.get("YARD_SANITIZED") != "1"
# Otherwise each byte that `rep movsb` copies counts as an instruction.
TUNABLES = ("glibc.cpu.x86_rep_movsb_threshold=2147483647:"
            "glibc.cpu.x86_rep_stosb_threshold=2147483647")


def work(*args, prefix=()):
    done = subprocess.run([*prefix, WORK, *map(str, args)], check=True, timeout=250,
                          env=dict(os.environ, GLIBC_TUNABLES=TUNABLES), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    return dict(line.split("=") for line in done.stdout.split()), done.stderr


def instructions(*args):
    _, errors = work(*args, prefix=["valgrind", "--tool=callgrind",
                                    "--callgrind-out-file=/dev/null"])
    return int(re.search(r"Collected\s*:\s*(\d+)", errors).group(1))


class SeriesWorkTest(unittest.TestCase):

    def check(self, name, value, limit):
        print("%s: %.1f, limit %.1f" % (name, value, limit))
        self.assertLess(value, limit, name)

    def need_counts(self):
        if IS_COUNTED and shutil.which("valgrind") is None:
            what = "valgrind is not installed: tools/setup installs it"
            raise AssertionError(what) if os.environ.get("CI") else unittest.SkipTest(what)
        return IS_COUNTED

    def test_a_point_takes_few_instructions(self):
        few, many = 10_000, 110_000
        self.assertEqual(work("append", many)[0]["points"], str(many))
        if not self.need_counts():
            return
        cost = sum(sign * (instructions(what, many) - instructions(what, few)) / (many - few)
                   for what, sign in (("append", 1), ("make", -1)))
        self.check("instructions a point", cost, 160)
        # Less than this, and it would not have been kept.
        self.assertGreater(cost, 20)

    def test_a_plot_of_a_million_points_takes_few_instructions(self):
        points, few, many = 1_000_000, 1, 3
        # Ends of ranges differ, so that a column may have been left empty.
        answer = work("query", points, 20)[0]
        self.assertGreater(int(answer["columns"]), 20 * 990)
        print("fastest answer: %.0f us" % (int(answer["best_ns"]) / 1e3))
        if not self.need_counts():
            return
        cost = ((instructions("query", points, many) - instructions("query", points, few))
                / (many - few))
        # It takes 0.9 ms here.
        self.check("instructions an answer of 1,000 columns", cost, 5_500_000)
        self.assertGreater(cost, 10_000)

    def test_five_million_points_take_less_than_80_mb(self):
        if not IS_COUNTED:
            return
        figures, _ = work("memory", 5_000_000, 100)
        self.check("MB resident", int(figures["resident"]) / 1e6, 80)
        self.check("bytes a point", int(figures["bytes"]) / 5e6, 9)

    def test_a_tag_of_one_point_takes_less_than_400_bytes(self):
        if not IS_COUNTED:
            return
        figures, _ = work("memory", 1_000_000, 1_000_000)
        self.check("bytes resident a tag", int(figures["resident"]) / 1e6, 400)


if __name__ == "__main__":
    xml_runner.main()
