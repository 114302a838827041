"""The same files read by the yard and by other projects' readers: the same tags, steps, times and values."""

import base64
import itertools
import json
import math
import os
import pathlib
import struct

from bazel.python import xml_runner
from tests import yard_case

PROGRAMS = pathlib.Path("tests/programs").absolute()

# The overlap policy under which our answer is that of the reader.
POLICIES = {"provider": "TensorBoard", "server": "RustServer", "accumulator": "TensorBoard",
            "mindinsight": "MindInsight"}

INT64 = 9  # TensorFlow's number.

# Reports in lock step: numbers that a float cannot hold among them.
TRIAL = """
import json, os
odd = [0.1, float("nan"), float("inf"), float("-inf"), 1e300, 1e-45, -0.0, 16777217]
for number in odd:
    report = {"loss": number, "eval": {"accuracy": number / 3}}
    os.write(3, json.dumps({"t": "report", "m": report}).encode() + b"\\n")
    assert json.loads(os.read(3, 65536))["t"] == "ok"
"""


def as_bytes(field):
    """A field of bytes: text where it is some, else base64."""
    return base64.b64decode(field["base64"]) if isinstance(field, dict) else field.encode()


def as_floats(tags):
    """The scalars of `tags` as their 32-bit floats."""
    def as_float(text):
        value = float(text)
        try:
            return as_text(struct.unpack("<f", struct.pack("<f", value))[0])
        except OverflowError:
            return as_text(math.copysign(math.inf, value))
    return {name: {**tag, "values": [[step, moment, as_float(text)] for step, moment, text in tag["values"]]}
            for name, tag in tags.items()}


def as_text(number):
    return repr(float(number))


def tensor(value):
    if value["dtype"] == INT64:
        data = as_bytes(value["data"])
        values = [repr(number) for number, in struct.iter_unpack("<q", data)]
    else:
        values = value["strings"] or [as_text(number) for number in value["numbers"]]
    return {"shape": value["shape"], "values": values}


def histogram(value):
    rows = list(zip(value["lefts"], value["rights"], value["counts"]))
    return {"shape": [len(rows), 3],
            "values": [as_text(number) for number in itertools.chain(*rows)]}


def landscape(value):
    return {"surface": [tensor(value[axis]) for axis in "xyz"],
            "path": [tensor(axis) for axis in value["path"]], "intervals": value["intervals"],
            "convergence": tensor(value["convergence"])["values"],
            "metadata": [value["decomposition"], value["unit"], value["step_per_epoch"]]}


def without_place(name, op):
    """MindInsight puts parameters and constants into the scope of each node that reads them."""
    return name.rpartition("/")[2] if op in ("Parameter", "Const") else name


def never_backwards(edges):
    """The server's outer edges of an old histogram are its least and greatest value, wherever they are."""
    values = edges["values"]
    if values:
        values[0] = min(values[:2], key=float)
        values[-2] = max(values[-3:-1], key=float)


def in_our_terms(name, tag, ours):
    """A tag that they have read, without the differences that are meant."""
    tag = dict(tag, values=sorted(tag["values"], key=lambda value: value[0]))
    # TensorBoard itself makes the metadata of old-style values.
    if "display_name" in tag and tag["display_name"] == name:
        tag["display_name"] = ours["display_name"]
    if "content" in tag and not ours["content"]:
        tag["content"] = ""
    # A tensor that no plugin speaks for is one of ours.
    if not tag["plugin"] and ours["plugin"] == "tensor":
        tag["plugin"] = "tensor"
    if tag["plugin"] == "histograms":
        for _, _, edges in tag["values"]:
            never_backwards(edges)
    return tag


def moment(value):
    return value["step"], value["wall_time"]


class ReadersAgreeTest(yard_case.YardCase):
    peer = "tensorboard"
    maxDiff = 4000

    def run_peer(self, peer, program, *words):
        """The output of a program of `programs/` in the environment of that peer."""
        python = os.path.join(os.environ["YARD_PEERS"], peer, "bin/python")
        return self.finish(self.start(python, str(PROGRAMS / program), *map(str, words)))[0]

    def call(self, method, request):
        """The parts of the data manager's answer."""
        answer, _ = self.yard("call", "datamanager", method, json.dumps(request), "--json")
        return [json.loads(line) for line in answer.splitlines()]

    def blob(self, run, blob):
        parts = self.call("ReadBlob", {"run": run, "blob": blob})
        return base64.b64encode(b"".join(as_bytes(part["data"]) for part in parts)).decode()

    def blobs(self, run, part):
        """As TensorBoard has them: an image is behind its width and height."""
        for (step, wall_time), group in itertools.groupby(part["blobs"], moment):
            group = list(group)
            size = [str(group[0][side]) for side in ("width", "height")]
            if part["plugin"] not in ("images", "image"):
                size = []
            yield [step, wall_time, [base64.b64encode(side.encode()).decode() for side in size] +
                   [self.blob(run, blob) for blob in group]]

    def ours(self, run, overlap, python_histograms=True):
        """The values that the yard reads, in the form of read_with_tensorboard.py."""
        seen = {}
        for tag in self.call("Tags", {"run": run})[0]["tags"]:
            seen[tag["name"]] = {
                "plugin": tag["plugin"], "display_name": tag["display_name"],
                "description": tag["description"],
                "content": base64.b64encode(as_bytes(tag["content"])).decode(), "values": []}
        policy = "rust" if overlap == "RustServer" else overlap.lower()
        for line in self.yard("export", run, "--format", "jsonl", "--overlap", policy)[0].splitlines():
            point = json.loads(line)
            seen[point["tag"]]["values"].append([*moment(point), as_text(point["value"])])
        selection = {"runs": [run], "overlap": overlap}
        request = {"selection": selection, "python_histograms": python_histograms}
        for part in self.call("ReadValues", request):
            self.assertEqual(part["refused"], 0, part["why_refused"])
            if not part["tag"] or part["plugin"] == "graphs":
                continue
            values = seen[part["tag"]]["values"]
            values += [[*moment(value), tensor(value)] for value in part["tensors"]]
            values += [[*moment(value), histogram(value)] for value in part["histograms"]]
            values += [[*moment(value), landscape(value)] for value in part["landscapes"]]
            values += self.blobs(run, part)
        # If there are several graphs one counts.
        for name in [name for name, tag in seen.items() if tag["plugin"] == "graphs"]:
            graph = self.call("ReadGraph", {"run": run, "tag": name})[0]["blob"]
            seen[name]["values"] = [[*moment(graph), [self.blob(run, graph)]]]
        return seen

    def directory_of(self, run):
        return os.path.join(self.directory, "runs", run)

    def mindinsight(self, run):
        return json.loads(self.run_peer("mindinsight", "read_with_mindinsight.py",
                                        self.directory_of(run)))

    def theirs(self, run, reader, points):
        if reader == "mindinsight":
            return self.mindinsight(run)["tags"]
        return json.loads(self.run_peer("tensorboard", "read_with_tensorboard.py", reader,
                                        self.directory_of(run), points))

    def check(self, run, reader, is_known=lambda tag: True, has_doubles=False):
        """`is_known`: of our tags, those that the reader shows. `has_doubles`: it sees only their floats."""
        with self.subTest(run=run, reader=reader):
            ours = self.ours(run, POLICIES[reader], python_histograms=reader != "server")
            if has_doubles:
                ours = as_floats(ours)
            ours = {name: tag for name, tag in ours.items() if is_known(tag)}
            points = sum(len(tag["values"]) for tag in ours.values())
            theirs = self.theirs(run, reader, points)
            self.assertEqual(sorted(ours), sorted(theirs))
            self.assertGreater(points, 0)
            for name, tag in theirs.items():
                mine = {key: ours[name][key] for key in tag}
                self.assertEqual(mine, in_our_terms(name, tag, mine), name)

    def check_all(self, run, has_doubles=False):
        # The pages show nothing that no plugin speaks for (a tensor alone is one of ours); scripts that read see it.
        self.check(run, "provider", lambda tag: tag["plugin"] != "tensor", has_doubles)
        self.check(run, "server", lambda tag: tag["plugin"] != "tensor", has_doubles)
        self.check(run, "accumulator", lambda tag: tag["plugin"] in ("scalars", "tensor", "matrices"), has_doubles)

    def write(self, peer, program, *words):
        """Writes a run of the test's name, and returns that."""
        run = self._testMethodName
        directory = pathlib.Path(self.directory, "runs", run)
        directory.mkdir(parents=True)
        self.run_peer(peer, program, *words, directory)
        self.call("Reload", {})
        return run

    def hparams(self, run):
        (row,) = self.call("HParams", {"selection": {"runs": [run]}})[0]["runs"]
        self.assertEqual(row["source"], "hparams")
        return row["group"], {pair["key"]: json.loads(pair["value"]) for pair in row["hparams"]}

    def test_tensorflow_new_style(self):
        run = self.write("tensorflow", "write_with_tensorflow.py", "new")
        self.check_all(run)
        self.assertEqual(self.hparams(run), ("one", {"rate": 0.25, "optimizer": "adam",
                                                     "nesterov": True, "layers": 3}))

    def test_tensorflow_old_style(self):
        self.check_all(self.write("tensorflow", "write_with_tensorflow.py", "old"))

    def test_steps_that_were_written_again(self):
        self.check_all(self.write("tensorflow", "write_with_tensorflow.py", "resumed"))

    def test_tensorboardx(self):
        run = self.write("tensorboard", "write_with_tensorboardx.py")
        self.check_all(run)
        self.assertEqual(self.hparams(run)[1], {"rate": 0.5, "optimizer": "sgd"})

    def test_mindspore(self):
        run = self.write("mindinsight", "write_with_mindinsight.py")
        self.check(run, "mindinsight", lambda tag: tag["plugin"] != "graph")

    def graph(self, run, scope=""):
        """All nodes below the scope, in the form of read_with_mindinsight.py."""
        nodes = {}
        for node in self.call("ReadGraph", {"run": run, "scope": scope})[0]["nodes"]:
            if node["nodes"]:
                nodes.update(self.graph(run, node["name"]))
            else:
                nodes[node["name"]] = [node["op"], sorted(node["inputs"]), sorted(node["outputs"])]
        return nodes

    def test_a_graph_of_mindspore(self):
        run = self.write("mindinsight", "write_with_mindinsight.py")
        graph = self.mindinsight(run)["graph"]
        name_of = {name: without_place(name, op) for name, (op, _, _) in graph.items()}
        name_of.update({"^" + name: "^" + ours for name, ours in name_of.items()})
        theirs = {name_of[name]: [op, sorted(map(name_of.get, inputs)),
                                  sorted(map(name_of.get, outputs))]
                  for name, (op, inputs, outputs) in graph.items()}
        self.assertEqual(len(theirs), 7)
        self.assertEqual(self.graph(run), theirs)

    def test_lineage_of_mindspore(self):
        run = self.write("mindinsight", "write_with_mindinsight.py")
        (ours,) = self.call("Lineage", {"selection": {"runs": [run]}})[0]["runs"]
        self.assertEqual(ours["error"], "")
        theirs = self.mindinsight(run)["lineage"]
        model = theirs["train"]["model"]
        model["size"] = int(model["size"])  # Protobuf's JSON has 64 bits as text.
        self.assertEqual({key: json.loads(ours[key]) for key in theirs}, theirs)

    def test_what_a_trial_has_reported(self):
        run = self._testMethodName
        self.yard("run", "--name", run, "--", "python", "-c", TRIAL)
        self.call("Reload", {})
        # We keep all 64 bits of its numbers, beside the float that others read.
        self.check_all(run, has_doubles=True)
        theirs = json.loads(self.run_peer("tensorflow", "read_with_tensorflow.py",
                                          os.path.join(self.directory, "runs", run)))
        ours = as_floats(self.ours(run, "Raw"))
        self.assertEqual({name: tag["values"] for name, tag in ours.items()}, theirs)
        self.assertEqual(len(theirs["eval/accuracy"]), 8)


if __name__ == "__main__":
    xml_runner.main()
