"""A browser, driven over a pipe by the DevTools protocol: Debian's Chromium and nothing else."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = "/usr/bin/chromium"
_PATIENCE = 60  # Seconds.
# The script keeps the page's violations of its policy, and its errors, where a test can ask for
# them.
_WATCH = """
globalThis.troubles = [];
addEventListener('securitypolicyviolation', e => troubles.push(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
addEventListener('error', e => troubles.push(`error: ${e.message} ${e.filename}:${e.lineno}`));
addEventListener('unhandledrejection', e => troubles.push(`rejected: ${e.reason && e.reason.stack || e.reason}`));
globalThis.alert = text => troubles.push(`alert: ${text}`);
"""


class Browser:
    """Ends with close()."""

    def __init__(self):
        self._home = tempfile.mkdtemp(prefix="browser-", dir="/tmp")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        words = [PROGRAM, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars",
                 "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-background-networking",
                 "--user-data-dir=" + self._home, "about:blank"]
        # It reads descriptor 3 and writes 4.
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", 'exec 3<&%d 4>&%d; exec "$0" "$@"' % (to_read, to_write), *words],
            pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self._home, "XDG_CONFIG_HOME": self._home})
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._number = b"", 0

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._home, ignore_errors=True)

    def call(self, method, session=None, **params):
        """The result of a command of the protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + _PATIENCE
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError("%s: %s" % (method, answer["error"]))
                return answer["result"]

    def _next(self, deadline):
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError("the browser does not answer")
            some = os.read(self._read, 1 << 16)
            if not some:
                raise AssertionError("the browser has ended with %s" % self._process.wait())
            self._buffer += some
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def page(self, width=1280, height=800):
        return Page(self, width, height)


class Page:
    def __init__(self, browser, width, height):
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")
        self._call("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
        self.resize(width, height)

    def _call(self, method, **params):
        return self._browser.call(method, self._session, **params)

    def resize(self, width, height):
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def theme(self, name):
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, address):
        self._call("Page.navigate", url=address)

    def evaluate(self, script):
        """The value of an expression, awaited."""
        result = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"].get("exception", {}).get("description") or result["exceptionDetails"]["text"])
        return result["result"].get("value")

    def wait(self, condition):
        """Until an expression is true."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                if self.evaluate("Boolean(%s)" % condition):
                    return
            except AssertionError:
                pass  # It is on its way to another page.
            if time.monotonic() >= deadline:
                raise AssertionError("never: %s\n%s\n%s" % (condition, self.troubles(), self.evaluate("document.body.innerText")))
            select.select([], [], [], 0.02)

    def key(self, key, text=""):
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "")

    def type(self, text):
        self._call("Input.insertText", text=text)

    def mouse(self, kind, x, y, button="none", clicks=0):
        self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=clicks, buttons=1 if button == "left" else 0)

    def troubles(self):
        return self.evaluate("globalThis.troubles || []")

    def heap(self):
        """Bytes that the page's scripts keep."""
        self._call("HeapProfiler.collectGarbage")
        return self._call("Runtime.getHeapUsage")["usedSize"]

    def picture(self, path):
        data = self._call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
