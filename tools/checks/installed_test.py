"""The check of an installation, against installations that are good and that are not."""

import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from bazel.python import xml_runner
from tools.checks import installed

HEADER = """#include <cstdio>
#include <vector>
namespace yard {
struct Metric { const char* name; double value; };
struct Reporter { bool Report(std::vector<Metric>) { return std::puts("loss=1") >= 0; } };
}
"""
MODULE = """class Reporter:
    def report(self, loss):
        print("loss=%s" % loss)
"""
BACKEND = "def build_wheel(folder): open(folder + '/made', 'w').close()\n"
PROJECT = '[build-system]\nrequires = [%s]\nbuild-backend = "backend"\nbackend-path = ["."]\n'
WHEEL = f"""import os, zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "a-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("yard.py", {MODULE!r})
        wheel.writestr("a-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: a\\nVersion: 1\\n")
        wheel.writestr("a-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("a-1.dist-info/RECORD", "")
    return name
"""
UNIT = "[Service]\nExecStart=PREFIX/bin/yard\n"
UP = "".join('{"service":"%s","state":"up","pid":1}\\n' % name for name in sorted(installed.SERVICES))


QUICKSTART = """
[ "$1" = --logdir ] && mkdir -p "$2/digits" && touch "$2/digits/result.json"
echo "plot"; echo; echo "accuracy 0.9561"; echo; echo "files    $2/digits (event file, result.json)"; echo "running  it"
"""
COMPLETIONS = ("bash-completion/completions/yard", "zsh/site-functions/_yard", "fish/vendor_completions.d/yard.fish")


def check(yard, libexec="", code=0, symbols="\0.debug_info\0", header=HEADER, module=MODULE, completions=COMPLETIONS, unit=UNIT,
          quickstart=QUICKSTART):
    """`yard` and `quickstart` are shell scripts that stand for the programs."""
    files = {"bin/yard": "#!/bin/sh\n" + yard, "libexec/trainer": libexec, "include/yard.h": header,
             "share/yard/python/build_wheel.py": BACKEND, "share/yard/python/yard.py": module,
             "share/systemd/user/yard.service": unit}
    files.update({"share/" + place: "" for place in completions})

    def install(*words):
        prefix = words[-1]
        debug = {}
        if words[0] == "--debug":
            debug = {"bin/yard": "#!/bin/sh\nyard.debug\0", "bin/yard.debug": symbols,
                     "libexec/trainer": "trainer.debug\0", "libexec/trainer.debug": "\0.debug_info\0"}
        for name, text in {**files, **debug}.items():
            path = os.path.join(prefix, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("PREFIX", prefix))
            os.chmod(path, 0o644 if name.endswith(".service") else 0o755)
        return subprocess.CompletedProcess([], code, "why", "")
    with tempfile.TemporaryDirectory() as directory:
        return installed.check("/the/checkout", install, lambda folder, directory: [],
                               script(directory, "trains", quickstart))


def script(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def quickstart_trains(quickstart, yard="exit 0"):
    with tempfile.TemporaryDirectory() as directory:
        return installed.quickstart_trains(script(directory, "trains", quickstart),
                                           script(directory, "yard", yard), directory)


def pip_installs(requires):
    """The same of a module that needs `requires` to be built."""
    with tempfile.TemporaryDirectory() as directory:
        folder = os.path.join(directory, "python")
        os.mkdir(folder)
        for name, text in {"pyproject.toml": PROJECT % requires, "backend.py": WHEEL}.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        return installed.pip_installs(folder, directory)


class InstalledTest(unittest.TestCase):
    def test_a_yard_that_comes_up_passes(self):
        self.assertEqual(check(f"printf '{UP}'"), [])

    def test_a_failed_installation_is_reported(self):
        self.assertEqual(check("exit 0", code=1), ["tools/install failed: why"])

    def test_a_path_of_the_checkout_is_found(self):
        self.assertEqual(check(f"printf '{UP}'", libexec="\0/the/checkout/x\0"),
                         ["trainer has the path of the checkout in it"])

    def test_a_program_that_is_not_stripped_is_found(self):
        self.assertEqual(check(f"printf '{UP}'", libexec="\0.debug_info\0"),
                         ["trainer is installed with its debug symbols"])

    def test_a_program_that_is_slow_to_load_is_found(self):
        self.assertEqual(check(f"printf '{UP}'", libexec="\0libabsl_strings.so.1\0"),
                         ["trainer loads Abseil's shared libraries; link their archives (third_party/system.bzl)"])

    def test_missing_debug_symbols_are_found(self):
        self.assertEqual(check(f"printf '{UP}'", symbols="none"),
                         ["tools/install --debug puts no debug symbols beside yard"])

    def test_a_header_that_needs_more_than_is_installed_is_found(self):
        found = check(f"printf '{UP}'", header='#include "sdk/cc/json.h"\n' + HEADER)
        self.assertEqual(len(found), 1)
        self.assertIn("a C++ program cannot report", found[0])
        self.assertIn("sdk/cc/json.h", found[0])

    def test_a_unit_that_systemd_does_not_take_is_found(self):
        for unit in ("[Service]\nExecStart=PREFIX/bin/none\n", "[Service]\nTypo=1\nExecStart=PREFIX/bin/yard\n"):
            with self.subTest(unit=unit):
                found = check(f"printf '{UP}'", unit=unit)
                self.assertEqual(len(found), 1)
                self.assertIn("systemd does not take the units", found[0])

    def test_an_interrupted_check_stops_its_yard(self):
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        stopped = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "stopped")
        with self.assertRaises(KeyboardInterrupt):
            check(f"case $1 in status) kill -INT $PPID ;; down) echo >{stopped} ;; esac")
        self.assertTrue(os.path.exists(stopped))

    def test_a_module_that_does_not_print_by_hand_is_found(self):
        found = check(f"printf '{UP}'", module=MODULE.replace("print", "str"))
        self.assertEqual(len(found), 1)
        self.assertIn("a Python program does not print its report", found[0])

    def test_pip_installs_a_module_that_needs_nothing_else(self):
        self.assertEqual(pip_installs(""), [])

    def test_a_module_that_needs_a_network_is_found(self):
        sentence, = pip_installs('"setuptools-that-is-nowhere"')
        self.assertIn("cannot be installed by pip", sentence)

    def test_a_missing_completion_is_named(self):
        self.assertEqual(check(f"printf '{UP}'", completions=COMPLETIONS[:2]),
                         ["there is no completion in share/fish/vendor_completions.d/yard.fish"])

    def test_a_verb_that_fails_is_named_with_what_it_said(self):
        found = check(f'printf \'{UP}\'; [ "$1" != down ] || {{ echo no >&2; exit 4; }}')
        self.assertEqual(len(found), 2)
        self.assertRegex(found[0], "^the installed yard down ended with 4: (.|\\n)*no$")
        self.assertRegex(found[1], "^down after tools/quickstart ended with 4: (.|\\n)*no$")

    def test_a_service_that_is_not_up_is_named(self):
        found = check("printf '%s'" % UP.replace('"launcher","state":"up"', '"launcher","state":"starting"'))
        self.assertEqual(len(found), 1)
        self.assertIn("launcher is not up", found[0])

    def test_a_quickstart_that_fails_is_named_with_what_it_said(self):
        sentence, = check(f"printf '{UP}'", quickstart=QUICKSTART + "echo no digits >&2; exit 3")
        self.assertIn("tools/quickstart ended with 3", sentence)
        self.assertIn("no digits", sentence)

    def test_a_quickstart_without_a_trained_model_is_found(self):
        for said, text in {"accuracy": QUICKSTART.replace("0.9561", "0.1"),
                           "directory": QUICKSTART.replace("touch", ":"),
                           "no accuracy": QUICKSTART.replace("accuracy", "precision")}.items():
            with self.subTest(said):
                sentence, = quickstart_trains(text)
                self.assertIn("tools/quickstart says no", sentence)
                self.assertIn(said, sentence)

    def test_the_yard_of_a_quickstart_is_its_own_and_is_stopped(self):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        say = 'echo "$YARD_STATE $XDG_RUNTIME_DIR $YARD_REGISTRY" >' + directory
        os.environ["YARD_REGISTRY"] = "ipc:///elsewhere"
        self.addCleanup(os.environ.pop, "YARD_REGISTRY")
        self.assertEqual(quickstart_trains(f"{say}/up\n" + QUICKSTART, f"{say}/$1"), [])
        started, stopped = (pathlib.Path(directory, name).read_text(encoding="utf-8") for name in ("up", "down"))
        self.assertEqual(started, stopped)
        self.assertRegex(started, "^/[^ ]*/quickstart/state /[^ ]*/quickstart/run \n$")

    def test_the_callers_environment_does_not_help(self):
        os.environ["YARD_REGISTRY"] = "ipc:///elsewhere"
        self.addCleanup(os.environ.pop, "YARD_REGISTRY")
        self.assertEqual(check(f'[ -z "$YARD_REGISTRY" ] || exit 9; printf \'{UP}\''), [])


if __name__ == "__main__":
    xml_runner.main()
