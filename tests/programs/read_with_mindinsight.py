"""Prints what MindInsight reads in a run's directory: "tags" in the form of read_with_tensorboard.py, "graph" and "lineage".

    read_with_mindinsight.py DIRECTORY
"""

import base64
import json
import pathlib
import sys

from google.protobuf import json_format
from mindinsight.datavisual.data_transform.ms_data_loader import MSDataLoader
from mindinsight.datavisual.proto_files import mindinsight_lineage_pb2
from mindinsight.lineagemgr.summary import lineage_summary_analyzer


def text(data):
    return base64.b64encode(data).decode()


def tensor(shape, numbers):
    return {"shape": list(shape), "values": [repr(float(number)) for number in numbers]}


def tensor_of(container):
    return tensor(container.dims, container.tensor_value.flatten().tolist())


def image(value):
    return [text(b"%d" % value.width), text(b"%d" % value.height), text(value.encoded_image)]


def histogram(value):
    rows = [(bucket.left, bucket.left + bucket.width, bucket.count)
            for bucket in value.histogram._original_buckets]  # Its buckets() are others, for plots.
    return tensor((len(rows), 3), [number for row in rows for number in row])


def landscape(value):
    surface, path, end = value.landscape, value.loss_path.points, value.convergence_point
    return {"surface": [tensor_of(axis) for axis in (surface.x, surface.y, surface.z)],
            "path": [tensor_of(axis) for axis in (path.x, path.y, path.z)],
            "intervals": value.loss_path.intervals,
            "convergence": [repr(float(axis.tensor_value[0])) for axis in (end.x, end.y, end.z)],
            "metadata": [value.metadata.decomposition, value.metadata.unit,
                         value.metadata.step_per_epoch]}


FORMS = {
    "scalar": lambda value: repr(float(value)),
    "image": image,
    "tensor": tensor_of,
    "histogram": histogram,
    "loss_landscape": landscape,
}


def graph_of(events):
    """Each node's type, inputs and outputs; `^`: only the one after the other."""
    def names(edges):
        return sorted("^" * (edge["edge_type"] == "control") + name for name, edge in edges.items())

    (tag,) = events.list_tags_by_plugin("graph")
    (event,) = events.tensors(tag)
    nodes = event.value.search_leaf_nodes_by_pattern(None)
    return {node.name: [node.type, names(node.inputs), names(node.outputs)] for node in nodes}


def lineage_of(directory):
    (path,) = pathlib.Path(directory).glob("*_lineage")
    analyzer = lineage_summary_analyzer.LineageSummaryAnalyzer
    latest = analyzer.get_summary_infos(str(path))
    user = mindinsight_lineage_pb2.UserDefinedInfo()
    for event in analyzer(str(path)).load_events():
        user.MergeFrom(event.user_defined_info)
    messages = {"train": latest.train_lineage.train_lineage,
                "evaluation": latest.eval_lineage.evaluation_lineage,
                "dataset": latest.dataset_graph.dataset_graph, "user_defined": user}
    return {key: json_format.MessageToDict(message, preserving_proto_field_name=True)
            for key, message in messages.items()}


def main(directory):
    loader = MSDataLoader(directory)
    loader.load()
    events = loader.get_events_data()
    tags = {tag: {"plugin": plugin,
                  "values": [[event.step, event.wall_time, form(event.value)]
                             for event in events.tensors(tag)]}
            for plugin, form in FORMS.items() for tag in events.list_tags_by_plugin(plugin)}
    json.dump({"tags": tags, "graph": graph_of(events), "lineage": lineage_of(directory)},
              sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
