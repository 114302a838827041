"""Prints what TensorBoard reads in a directory with one run, as JSON.

    read_with_tensorboard.py provider DIRECTORY          what its pages are made of, in Python
    read_with_tensorboard.py server DIRECTORY POINTS     the same, from its Rust data server
    read_with_tensorboard.py accumulator DIRECTORY       what scripts use; scalars and plain tensors

{"TAG": {"plugin": ..., "values": [[STEP, WALL_TIME, VALUE], ...]}}, and what the metadata say. A value
is a number as text, a tensor with shape and values, or a list of blobs, in base64.
"""

import base64
import itertools
import json
import sys
import time

from tensorboard import context
from tensorboard.util import tensor_util

ALL = 10**6
DEADLINE = 100  # Seconds.


def plain(array):
    """A tensor whose numbers are text: JSON has neither NaN nor whole numbers of 64 bits."""
    flat = array.flatten().tolist()
    return {"shape": list(array.shape),
            "values": [v.decode() if isinstance(v, bytes) else repr(v) for v in flat]}


def text(data):
    return base64.b64encode(data).decode()


def python_provider(directory):
    from tensorboard.backend.event_processing import data_provider
    from tensorboard.backend.event_processing import plugin_event_accumulator
    from tensorboard.backend.event_processing import plugin_event_multiplexer
    multiplexer = plugin_event_multiplexer.EventMultiplexer(
        size_guidance={plugin_event_accumulator.TENSORS: 0})
    multiplexer.AddRunsFromDirectory(directory)
    multiplexer.Reload()
    return data_provider.MultiplexerDataProvider(multiplexer, directory)


PLUGINS = ("scalars", "histograms", "images", "audio", "text", "hparams", "pr_curves", "mesh",
           "graphs", "matrices")


def server_provider(directory):
    from tensorboard.data import server_ingester
    from tensorboard.util import grpc_util
    ingester = server_ingester.SubprocessServerDataIngester(
        server_binary=server_ingester.get_server_binary(), logdir=directory, reload_interval=0,
        channel_creds_type=grpc_util.ChannelCredsType.LOCAL,
        samples_per_plugin={plugin: 0 for plugin in PLUGINS}, extra_flags=["--checksum"])
    ingester.start()
    server_provider.process = ingester  # It ends with the server.
    return ingester.data_provider


def read_all(data):
    question = dict(ctx=context.RequestContext(), experiment_id="")
    seen = {}

    def blobs(point):
        keys = [reference.blob_key for reference in point.values]
        return [text(data.read_blob(ctx=question["ctx"], blob_key=key)) for key in keys]

    kinds = ((data.list_scalars, data.read_scalars, lambda point: repr(float(point.value))),
             (data.list_tensors, data.read_tensors, lambda point: plain(point.numpy)),
             (data.list_blob_sequences, data.read_blob_sequences, blobs))
    for plugin, (list_tags, read, value_of) in itertools.product(PLUGINS, kinds):
        asked = dict(question, plugin_name=plugin)
        tags = list_tags(**asked).get(".", {})
        points = read(downsample=ALL, **asked).get(".", {})
        for tag in points.keys() & tags.keys():
            seen[tag] = {
                "plugin": plugin,
                "display_name": tags[tag].display_name,
                "description": tags[tag].description,
                "content": text(tags[tag].plugin_content),
                "values": [[p.step, p.wall_time, value_of(p)] for p in points[tag]],
            }
    return seen


def read_server(directory, points):
    """The server says nowhere that it has read everything: it is asked until so many are there."""
    data = server_provider(directory)
    deadline = time.monotonic() + DEADLINE
    while True:
        seen = read_all(data)
        count = sum(len(tag["values"]) for tag in seen.values())
        if count >= points or time.monotonic() > deadline:
            return seen
        time.sleep(0.05)


def read_accumulator(directory):
    from tensorboard.backend.event_processing import event_accumulator
    accumulator = event_accumulator.EventAccumulator(directory,
                                                     size_guidance={"scalars": 0, "tensors": 0})
    accumulator.Reload()
    seen = {tag: {"plugin": "scalars",
                  "values": [[p.step, p.wall_time, repr(float(p.value))]
                             for p in accumulator.Scalars(tag)]}
            for tag in accumulator.Tags()["scalars"]}
    for tag in accumulator.Tags()["tensors"]:
        metadata = accumulator.summary_metadata.get(tag)
        plugin = metadata.plugin_data.plugin_name if metadata else ""
        if plugin not in ("scalars", "", "matrices"):
            continue
        arrays = [(p, tensor_util.make_ndarray(p.tensor_proto)) for p in accumulator.Tensors(tag)]
        seen[tag] = {"plugin": plugin,
                     "values": [[p.step, p.wall_time,
                                 repr(float(a)) if plugin == "scalars" else plain(a)]
                                for p, a in arrays]}
    return seen


def main():
    how, directory = sys.argv[1:3]
    if how == "provider":
        seen = read_all(python_provider(directory))
    elif how == "server":
        seen = read_server(directory, int(sys.argv[3]))
    else:
        seen = read_accumulator(directory)
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
