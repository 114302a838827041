"""Reports, until it is warned: then it saves, notes how it was warned, and ends.

    warned.py DIRECTORY
"""

import json
import os
import pathlib
import signal
import sys
import time

folder, attempt = pathlib.Path(sys.argv[1]), os.environ["YARD_ATTEMPT"]
channel = os.fdopen(3, "r+b", buffering=0)
term = []
signal.signal(signal.SIGTERM, lambda *_: term.append(time.time()))


def ask(**message):
    channel.write(json.dumps(message).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        part = channel.read(1)
        if not part:
            sys.exit("the channel has ended")
        answer += part
    return json.loads(answer)


start = os.environ.get("YARD_CHECKPOINT")
step = int(pathlib.Path(start, "step").read_text()) if start else 0
while not (folder / "enough").exists():
    step += 1
    answer = ask(t="report", m={"step": step})
    with open(folder / ("steps-" + attempt), "a") as steps:
        steps.write("%d\n" % step)
    if answer["t"] == "stop":
        place = ask(t="ckpt_begin", step=step)["path"]
        pathlib.Path(place, "step").write_text(str(step))
        ask(t="ckpt_end", path=place)
        limit = time.monotonic() + 2
        while not term and time.monotonic() < limit:
            time.sleep(0.01)
        (folder / "new").write_text(json.dumps({"stop": answer.get("reason"), "grace": answer.get("grace_s"), "term": bool(term), "step": step}))
        (folder / "new").rename(folder / ("stopped-" + attempt))
        sys.exit(0)
    time.sleep(0.05)
