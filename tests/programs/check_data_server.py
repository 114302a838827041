"""Holds a data server against what TensorBoard's client wants, and against TensorBoard's own reader of the same directory.

    check_data_server.py PORT DIRECTORY      prints {"passed": N, "failed": {NAME: DETAIL}} as JSON
    check_data_server.py --runs PORT N       waits until it has read so many runs; prints true, or false after a minute
"""

import concurrent.futures
import json
import math
import re
import sys
import time

import grpc
import numpy
from tensorboard import context
from tensorboard.backend.event_processing import data_provider as reference_provider
from tensorboard.backend.event_processing import plugin_event_multiplexer
from tensorboard.data import grpc_provider, provider, server_ingester
from tensorboard.data.proto import data_provider_pb2 as pb
from tensorboard.util import grpc_util

CONTEXT = context.RequestContext()
ALL = 10**7
CALLERS = 64
SERVICE = "/tensorboard.data.TensorBoardDataProvider/"
KINDS = ("scalars", "tensors", "blob_sequences")
PLUGINS = ("scalars", "images", "audio", "histograms", "text", "pr_curves", "hparams", "mesh", "greeter", "custom_scalars",
           "graphs", "graph_tagged_run_metadata")


class Checks:
    def __init__(self):
        self.passed = 0
        self.failed = {}

    def __call__(self, name, holds, detail=""):
        if holds:
            self.passed += 1
        else:
            self.failed[name] = repr(detail)[:300]


def code(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code().name, error.details()
    return "OK", ""


def plugin(name):
    return pb.PluginFilter(plugin_name=name)


def chosen(runs=None, tags=None):
    filters = {}
    if runs is not None:
        filters["runs"] = pb.RunFilter(names=runs)
    if tags is not None:
        filters["tags"] = pb.TagFilter(names=tags)
    return pb.RunTagFilter(**filters)


class Client:
    def __init__(self, address):
        self.stub = server_ingester._make_stub(address, grpc_util.ChannelCredsType.LOCAL)
        self.provider = grpc_provider.GrpcDataProvider(address, self.stub)
        self.credentials, self.options = grpc_util.ChannelCredsType.LOCAL.channel_config()
        self.address = address

    def raw(self, path, message, **options):
        channel = grpc.secure_channel(self.address, self.credentials, options=self.options, **options)
        return channel.unary_unary(path)(message)

    def list_scalars(self, **filters):
        answer = self.stub.ListScalars(pb.ListScalarsRequest(plugin_filter=plugin("scalars"), **filters))
        return {run.run_name: {tag.tag_name: tag.metadata for tag in run.tags} for run in answer.runs}

    def read_scalars(self, points, **filters):
        answer = self.stub.ReadScalars(pb.ReadScalarsRequest(
            plugin_filter=plugin("scalars"), downsample=pb.Downsample(num_points=points), **filters))
        return {run.run_name: {tag.tag_name: list(zip(tag.data.step, tag.data.wall_time, tag.data.value))
                               for tag in run.tags} for run in answer.runs}


def check_requests(check, client):
    for name in ("Scalars", "Tensors", "BlobSequences"):
        for verb in ("List", "Read"):
            method, request = getattr(client.stub, verb + name), getattr(pb, "%s%sRequest" % (verb, name))
            more = {"downsample": pb.Downsample(num_points=5)} if verb == "Read" else {}
            check("%s%s: no plugin" % (verb, name), code(lambda: method(request(**more)))[0] == "INVALID_ARGUMENT")
            check("%s%s: an empty plugin" % (verb, name),
                  code(lambda: method(request(plugin_filter=plugin(""), **more)))[0] == "INVALID_ARGUMENT")
            check("%s%s: an unknown plugin" % (verb, name), not method(request(plugin_filter=plugin("x"), **more)).runs)
            if verb == "Read":
                what, why = code(lambda: method(request(plugin_filter=plugin("scalars"))))
                check("Read%s: no downsample" % name, what == "INVALID_ARGUMENT" and "downsample" in why, why)
                negative = request(plugin_filter=plugin("scalars"), downsample=pb.Downsample(num_points=-1))
                check("Read%s: negative" % name, code(lambda: method(negative))[0] == "INVALID_ARGUMENT")
    for key in ("", "???", "AAAAAA", "not a key"):
        check("blob key %r" % key, code(lambda: list(client.stub.ReadBlob(pb.ReadBlobRequest(blob_key=key))))[0]
              in ("INVALID_ARGUMENT", "NOT_FOUND"))


def check_foreign_calls(check, client):
    """A request that no TensorBoard sends costs its sender an error, and other clients nothing."""
    check("an unknown method", code(lambda: client.raw(SERVICE + "Nothing", b""))[0] == "UNIMPLEMENTED")
    check("an unknown service", code(lambda: client.raw("/x.Y/Z", b""))[0] == "UNIMPLEMENTED")
    what = code(lambda: client.raw(SERVICE + "ListScalars", b"\xff\xff\xff"))
    check("what is no message", what[0] == "INVALID_ARGUMENT", what)
    what = code(lambda: client.raw(SERVICE + "ListScalars", b"x" * 2000, compression=grpc.Compression.Gzip))
    check("a compressed message", what[0] == "UNIMPLEMENTED", what)
    what = code(lambda: client.raw(SERVICE + "ListScalars", b"x" * (5 << 20)))
    check("an endless message", what[0] in ("RESOURCE_EXHAUSTED", "CANCELLED", "UNAVAILABLE"), what)
    check("it goes on", code(lambda: client.stub.ListRuns(pb.ListRunsRequest()))[0] == "OK")


def check_filters(check, client, listed, run, tag):
    def series(**filters):
        return {name: set(tags) for name, tags in client.list_scalars(**filters).items()}

    everything = {name: set(tags) for name, tags in listed.items()}
    check("no filter", series(run_tag_filter=chosen()) == everything)
    check("an empty filter of runs", series(run_tag_filter=chosen(runs=[])) == {})
    check("an empty filter of tags", series(run_tag_filter=chosen(tags=[])) == {})
    check("one run", set(series(run_tag_filter=chosen(runs=[run, "nobody"]))) == {run})
    check("one tag", all(tags == {tag} for tags in series(run_tag_filter=chosen(tags=[tag, "nothing"])).values()))
    check("names are whole", series(run_tag_filter=chosen(runs=[run[:-1]])) == {})
    check("run and tag", series(run_tag_filter=chosen([run], [tag])) == {run: {tag}})


def check_numbers_of_points(check, client, run, tag, whole):
    for count in (0, 1, 2, 3, 10, 500, 1000):
        some, again = (client.read_scalars(count, run_tag_filter=chosen([run], [tag]))[run][tag] for _ in range(2))
        name = "%d points" % count
        # (The server was told that 0 is all.)
        check(name + ": no more", len(some) <= count or count == 0, len(some))
        check(name + ": the same twice", some == again)
        check(name + ": the last", some[-1] == whole[-1])
        check(name + ": of the series", set(some) <= set(whole) and some == sorted(some))
        check(name + ": all of a short one", some == whole or 0 < count < len(whole))


def check_scalars(check, client):
    runs = client.stub.ListRuns(pb.ListRunsRequest()).runs
    starts = [run.start_time for run in runs]
    check("runs by their start", starts == sorted(starts), starts)
    check("names of runs", len({run.name for run in runs}) == len(runs))
    listed, read = client.list_scalars(), client.read_scalars(ALL)
    check("list and read have the same", {run: set(tags) for run, tags in listed.items()} ==
          {run: set(tags) for run, tags in read.items()})
    run, tag = "new", "loss"
    check_filters(check, client, listed, run, tag)
    check_numbers_of_points(check, client, run, tag, read[run][tag])
    for run_name, tags in read.items():
        for tag_name, points in tags.items():
            name, metadata = "%s/%s" % (run_name, tag_name), listed[run_name][tag_name]
            steps = [point[0] for point in points]
            check(name + ": ascending", steps == sorted(steps), steps)
            check(name + ": max_step", metadata.max_step == max(steps))
            check(name + ": max_wall_time", metadata.max_wall_time == max(point[1] for point in points))
            check(name + ": class", metadata.summary_metadata.data_class == 1)
    with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
        answers = pool.map(lambda _: client.read_scalars(ALL, run_tag_filter=chosen([run], [tag]))[run][tag],
                           range(2 * CALLERS))
        check("many callers", all(answer == read[run][tag] for answer in answers))


def reference_of(directory):
    everything = {name: 0 for name in ("scalars", "tensors", "compressedHistograms", "images", "audio", "histograms")}
    multiplexer = plugin_event_multiplexer.EventMultiplexer(
        size_guidance=everything, tensor_size_guidance={name: 0 for name in PLUGINS})
    multiplexer.AddRunsFromDirectory(directory)
    multiplexer.Reload()
    return reference_provider.MultiplexerDataProvider(multiplexer, directory)


def same(a, b):
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def check_values(check, name, kind, ours, theirs, client, reference):
    check(name + ": steps", [point.step for point in ours] == [point.step for point in theirs],
          ([point.step for point in ours], [point.step for point in theirs]))
    if len(ours) != len(theirs):
        return
    pairs = list(zip(ours, theirs))
    check(name + ": times", all(a.wall_time == b.wall_time for a, b in pairs))
    if kind == "scalars":
        check(name + ": values", all(same(float(numpy.float32(a.value)), float(numpy.float32(b.value))) for a, b in pairs))
    elif kind == "tensors":
        check(name + ": values", all(a.numpy.dtype == b.numpy.dtype and numpy.array_equal(a.numpy, b.numpy) for a, b in pairs),
              (ours[0].numpy.shape, theirs[0].numpy.shape))
    else:
        check(name + ": lengths", [len(a.values) for a in ours] == [len(b.values) for b in theirs])
        keys = [blob.blob_key for a in ours for blob in a.values]
        check(name + ": keys", len(set(keys)) == len(keys) and all(re.fullmatch(r"[A-Za-z0-9_.~-]+", key) for key in keys))
        check(name + ": bytes", all(
            client.provider.read_blob(CONTEXT, blob_key=x.blob_key) == reference.read_blob(CONTEXT, blob_key=y.blob_key)
            for a, b in pairs for x, y in zip(a.values, b.values)))


def check_plugin(check, plugin_name, kind, client, reference):
    fields = ("max_step", "max_wall_time", "plugin_content", "description", "display_name")
    fields += ("max_length",) if kind == "blob_sequences" else ()
    query = {"experiment_id": "", "plugin_name": plugin_name}
    ours = getattr(client.provider, "list_" + kind)(CONTEXT, **query) or {}
    theirs = getattr(reference, "list_" + kind)(CONTEXT, **query) or {}
    ours, theirs = ({(run, tag): metadata for run, tags in answer.items() for tag, metadata in tags.items()}
                    for answer in (ours, theirs))
    prefix = "%s of %s" % (kind, plugin_name)
    for run, tag in sorted(set(ours) ^ set(theirs)):
        check("%s %s/%s: listed" % (prefix, run, tag), False, "only here" if (run, tag) in ours else "only there")
    for key in set(ours) & set(theirs):
        for field in fields:
            check("%s %s/%s: %s" % (prefix, *key, field), getattr(ours[key], field) == getattr(theirs[key], field),
                  (getattr(ours[key], field), getattr(theirs[key], field)))
    if not ours and not theirs:
        return
    read = getattr(client.provider, "read_" + kind)(CONTEXT, downsample=ALL, **query) or {}
    for run, tags in read.items():
        query["run_tag_filter"] = provider.RunTagFilter(runs=[run])
        try:
            theirs = getattr(reference, "read_" + kind)(CONTEXT, downsample=ALL, **query) or {}
        except TypeError as error:
            check("%s %s: read" % (prefix, run), False, error)
            continue
        for tag, values in tags.items():
            if tag in theirs.get(run, {}):
                check_values(check, "%s %s/%s" % (prefix, run, tag), kind, values, theirs[run][tag], client, reference)


def main(port, directory):
    check, client = Checks(), Client("localhost:" + port)
    location = client.stub.GetExperiment(pb.GetExperimentRequest(), timeout=5).data_location
    check("data_location", location == directory, location)
    check_requests(check, client)
    check_foreign_calls(check, client)
    check_scalars(check, client)
    reference = reference_of(directory)
    ours = set(client.provider.list_plugins(CONTEXT, experiment_id=""))
    theirs = set(reference.list_plugins(CONTEXT, experiment_id=""))
    check("plugins", ours == theirs, (ours, theirs))
    ours = {run.run_name for run in client.provider.list_runs(CONTEXT, experiment_id="")}
    theirs = {run.run_name for run in reference.list_runs(CONTEXT, experiment_id="")}
    for run in ours ^ theirs:
        check("run %s: listed" % run, False, "only here" if run in ours else "only there")
    for plugin_name in PLUGINS:
        for kind in KINDS:
            check_plugin(check, plugin_name, kind, client, reference)
    json.dump({"passed": check.passed, "failed": check.failed}, sys.stdout)


def await_runs(port, count):
    client, deadline = Client("localhost:" + port), time.monotonic() + 60
    # The one call with a deadline: it is answered whatever is being read.
    client.stub.GetExperiment(pb.GetExperimentRequest(), timeout=5)
    while len(client.stub.ListRuns(pb.ListRunsRequest()).runs) < count:
        if time.monotonic() > deadline:
            return False
    return len(client.read_scalars(1)) == count


if __name__ == "__main__":
    if sys.argv[1] == "--runs":
        print(json.dumps(await_runs(sys.argv[2], int(sys.argv[3]))))
    else:
        main(*sys.argv[1:])
