"""Reads a directory of event files once with another project's reader, and prints how long that took.

    reader_figures.py tensorboard DIRECTORY     what TensorBoard serves from, in Python
    reader_figures.py server DIRECTORY          its Rust data server, checksums on: from its start
    reader_figures.py mindinsight DIRECTORY     MindInsight's loader; DIRECTORY is a run

{"seconds": ..., "points": ...}; null from those that keep a sample.
"""

import json
import subprocess
import sys
import tempfile
import time


def tensorboard(directory):
    from tensorboard.backend.event_processing import plugin_event_accumulator
    from tensorboard.backend.event_processing import plugin_event_multiplexer
    multiplexer = plugin_event_multiplexer.EventMultiplexer(
        size_guidance={plugin_event_accumulator.TENSORS: 0})
    begin = time.monotonic()
    multiplexer.AddRunsFromDirectory(directory)
    multiplexer.Reload()
    seconds = time.monotonic() - begin
    runs = [multiplexer.GetAccumulator(run) for run in multiplexer.Runs()]
    return seconds, sum(len(run.Tensors(tag)) for run in runs for tag in run.Tags()["tensors"])


def server(directory):
    import tensorboard_data_server
    with tempfile.TemporaryDirectory() as place:
        begin = time.monotonic()
        process = subprocess.Popen(
            [tensorboard_data_server.server_binary(), "--logdir", directory, "--reload", "once",
             "--port", "0", "--port-file", place + "/port", "-vv", "--checksum",
             "--die-after-stdin"],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        seconds = None
        for line in process.stderr:
            if "Finished load cycle" in line:
                seconds = time.monotonic() - begin
                break
        process.kill()
        process.communicate()
    if seconds is None:
        sys.exit("the server has ended without having read everything")
    return seconds, None


def mindinsight(directory):
    from mindinsight.datavisual.data_transform.ms_data_loader import MSDataLoader
    begin = time.monotonic()
    loader = MSDataLoader(directory)
    loader.load()
    seconds = time.monotonic() - begin
    events = loader.get_events_data()
    if not events.list_tags_by_plugin("scalar"):
        sys.exit("the loader has found no scalar")
    return seconds, None


def main():
    readers = {"tensorboard": tensorboard, "server": server, "mindinsight": mindinsight}
    seconds, points = readers[sys.argv[1]](sys.argv[2])
    print(json.dumps({"seconds": seconds, "points": points}))


if __name__ == "__main__":
    main()
