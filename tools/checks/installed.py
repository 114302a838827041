"""What tools/install makes: does it run without the checkout, and is it free of it? And does tools/quickstart train?"""

import glob
import json
import os
import re
import subprocess
import tempfile

SERVICES = {"registry", "launcher", "datamanager", "trainer", "web"}
_SECONDS = 60
_BUILD_SECONDS = 3600  # Targets that the tests have built need not be built again; without them it takes long.
_LEAST_ACCURACY = 0.9  # The share of digits that tools/quickstart's network must tell; guessing gives 0.1.
_PROGRAM = '#include "yard.h"\nint main() { return yard::Reporter().Report({{"loss", 1}}) ? 0 : 1; }\n'
# The first is what pip calls to install the second.
_SCRIPT = "import build_wheel, yard; build_wheel.build_wheel('.'); yard.Reporter().report(loss=1)"


def check(checkout, install=None, pip=None, quickstart=None):
    """Complaints about an installation, as sentences. `install(*words)` makes it; default: tools/install.

    `pip(folder, directory)` stands for pip_installs, `quickstart` is a program: the first command of README.md.
    """
    quickstart = quickstart or os.path.join(checkout, "tools/quickstart")
    install = install or (lambda *words: _run([os.path.join(checkout, "tools/install"), *words], os.environ))
    pip = pip or pip_installs
    # Short, because it holds the paths of sockets.
    with tempfile.TemporaryDirectory(prefix="yard-", dir="/tmp") as directory:
        prefix = os.path.join(directory, "prefix")
        made = install(prefix)
        if made.returncode != 0:
            return ["tools/install failed: " + made.stdout.strip()]
        return (_mentions(prefix, checkout) + _unstripped(prefix) + _slow_to_load(prefix) + _without_symbols(install, directory) +
                _programs_report(prefix, directory) +
                pip(os.path.join(prefix, "share/yard/python"), directory) +
                _completes(prefix) + _units(prefix, directory) +
                _first_steps(os.path.join(prefix, "bin", "yard"), directory) +
                quickstart_trains(quickstart, os.path.join(prefix, "bin", "yard"), directory))


def _mentions(prefix, checkout):
    """Programs with the path of the checkout in them would work on this machine alone."""
    sentences = []
    for folder, _, files in os.walk(prefix):
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                if checkout.encode() in file.read():
                    sentences.append(f"{name} has the path of the checkout in it")
    return sorted(sentences)


def _unstripped(prefix):
    """Debug symbols are most of a program, and only a debugger reads them."""
    return [f"{os.path.basename(path)} is installed with its debug symbols"
            for path in _programs(prefix) if _has(path, b"\0.debug_info\0")]


def _slow_to_load(prefix):
    """The dynamic loader takes some 100 us for each shared library, and Abseil has over twenty."""
    return [f"{os.path.basename(path)} loads Abseil's shared libraries; link their archives (third_party/system.bzl)"
            for path in _programs(prefix) if _has(path, b"\0libabsl_")]


def _without_symbols(install, directory):
    """With --debug they are beside each program, which says so."""
    prefix = os.path.join(directory, "debug")
    made = install("--debug", prefix)
    if made.returncode != 0:
        return ["tools/install --debug failed: " + made.stdout.strip()]
    return [f"tools/install --debug puts no debug symbols beside {os.path.basename(path)}"
            for path in _programs(prefix) if not path.endswith(".debug") and not (
                _has(path + ".debug", b"\0.debug_info\0") and _has(path, os.path.basename(path).encode() + b".debug\0"))]


def _programs(prefix):
    return sorted(glob.glob(os.path.join(prefix, "bin/*")) + glob.glob(os.path.join(prefix, "libexec/*")))


def _has(path, content):
    try:
        with open(path, "rb") as file:
            return content in file.read()
    except OSError:
        return False


def _programs_report(prefix, directory):
    """A training program of each language, made of nothing but what is installed."""
    source, program = (os.path.join(directory, name) for name in ("train.cc", "train"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(_PROGRAM)
    commands = {
        "a C++ program": [["c++", "-std=c++20", "-I", os.path.join(prefix, "include"), source, "-o", program], [program]],
        "a Python program": [["python3", "-B", "-c", _SCRIPT]],
    }
    environment = {"PATH": "/usr/bin:/bin", "HOME": directory, "PYTHONPATH": os.path.join(prefix, "share/yard/python")}
    sentences = []
    for name, steps in commands.items():
        for step in steps:
            answer = _run(step, environment, directory)
            if answer.returncode != 0:
                sentences.append(f"{name} cannot report by what is installed: {answer.stdout.strip()}")
                break
        else:
            if "loss=1\n" not in answer.stdout:
                sentences.append(f"{name} does not print its report by hand: {answer.stdout.strip()}")
    return sentences


def pip_installs(folder, directory):
    """The module of `folder`, by pip in a new virtual environment in `directory`, without a network."""
    python = os.path.join(directory, "venv/bin/python")
    environment = {"PATH": "/usr/bin:/bin", "HOME": directory}
    for step in (["/usr/bin/python3", "-m", "venv", os.path.join(directory, "venv")],
                 [python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", folder],
                 [python, "-c", "import yard; yard.Reporter().report(loss=1)"]):
        answer = _run(step, environment, directory)
        if answer.returncode != 0:
            return [f"the Python module cannot be installed by pip: {answer.stdout.strip()}"]
    return []


def _completes(prefix):
    """The scripts of each shell, where it looks for those of installed programs."""
    places = ("bash-completion/completions/yard", "zsh/site-functions/_yard", "fish/vendor_completions.d/yard.fish")
    return [f"there is no completion in share/{place}" for place in places
            if not os.path.exists(os.path.join(prefix, "share", place))]


def _units(prefix, directory):
    """systemd takes them, and the programs that they start are there."""
    units = sorted(glob.glob(os.path.join(prefix, "share/systemd/user/*")))
    if not units:
        return ["no unit of systemd is installed"]
    answer = _run(["systemd-analyze", "verify", "--user", "--man=no", *units],
                  {"PATH": "/usr/bin:/bin", "HOME": directory, "XDG_RUNTIME_DIR": directory}, directory)
    said = answer.stdout.strip()
    return ["systemd does not take the units: " + said] if answer.returncode != 0 or said else []


def _first_steps(yard, directory):
    """up, status and down of the installed yard, with nothing of the caller's environment."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": directory, "XDG_RUNTIME_DIR": directory,
                   "YARD_STATE": os.path.join(directory, "state")}
    sentences = []

    def step(*words):
        answer = _run([yard, *words], environment, directory)
        if answer.returncode != 0:
            sentences.append(f"the installed yard {words[0]} ended with {answer.returncode}: {answer.stdout.strip()}")
        elif words[0] == "status":
            sentences.extend(_missing_services(answer.stdout))
    try:
        step("up", "--logdir", os.path.join(directory, "runs"))
        step("status", "--json")
    finally:  # Also when it is interrupted.
        step("down")
    return sentences


def quickstart_trains(program, yard, directory):
    """The `program` ends with a trained model, whose files are there. Its services are stopped by the installed `yard`."""
    directory = os.path.join(directory, "quickstart")
    runs, runtime = (os.path.join(directory, name) for name in ("runs", "run"))
    os.makedirs(runtime, mode=0o700)
    # Bazel's caches are found by the caller's variables; no yard of the caller's may be.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("YARD_")}
    environment.update(YARD_STATE=os.path.join(directory, "state"), XDG_RUNTIME_DIR=runtime)
    sentences = []
    try:
        answer = _run([program, "--logdir", runs], environment, directory, _BUILD_SECONDS)
        said = answer.stdout.strip()
        if answer.returncode != 0:
            sentences.append(f"tools/quickstart ended with {answer.returncode}: {said}")
        else:
            sentences += _missing_results(said, runs)
    finally:  # Also when it is interrupted.
        answer = _run([yard, "down"], environment, directory)
        if answer.returncode != 0:
            sentences.append(f"down after tools/quickstart ended with {answer.returncode}: {answer.stdout.strip()}")
    return sentences


def _missing_results(said, runs):
    accuracy = re.search(r"^accuracy ([\d.]+)$", said, re.MULTILINE)
    files = re.search(r"^files +(\S+)", said, re.MULTILINE)
    sentences = []
    if not accuracy or float(accuracy[1]) < _LEAST_ACCURACY:
        sentences.append(f"tools/quickstart says no accuracy of {_LEAST_ACCURACY} or more: {said}")
    if not files or not files[1].startswith(runs + "/") or not os.path.exists(os.path.join(files[1], "result.json")):
        sentences.append(f"tools/quickstart says no directory with a result.json: {said}")
    return sentences


def _missing_services(status):
    """`status` is one JSON object a service, one a line, or an array of them."""
    rows = []
    for line in status.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        rows += row if isinstance(row, list) else [row]
    up = {row.get("service") for row in rows if isinstance(row, dict) and row.get("state") == "up"}
    return [f"after up of the installed yard, {name} is not up: {status.strip()}" for name in sorted(SERVICES - up)]


def _run(arguments, environment, directory=None, seconds=_SECONDS):
    try:
        return subprocess.run(arguments, env=environment, cwd=directory, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=seconds if directory else None, check=False)
    except subprocess.TimeoutExpired as expired:
        return subprocess.CompletedProcess(arguments, -1, f"no end after {expired.timeout} s", "")
    except OSError as error:
        return subprocess.CompletedProcess(arguments, -1, str(error), "")
