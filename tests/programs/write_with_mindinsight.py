"""Writes a run in MindSpore's format with MindInsight's own messages.

    write_with_mindinsight.py DIRECTORY
"""

import struct
import sys

from mindinsight.datavisual.proto_files import mindinsight_anf_ir_pb2 as graph_pb2
from mindinsight.datavisual.proto_files import mindinsight_lineage_pb2 as lineage_pb2
from mindinsight.datavisual.proto_files import mindinsight_summary_pb2 as summary_pb2

STEPS = [*range(8), 5]  # Step 5 is written again.
CONTROL = 1  # An input that only comes before.


def masked_crc(data):
    """CRC-32C as records have it; MindInsight, which does not look at it, cannot make it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


def write_record(file, message):
    payload = message.SerializeToString()
    length = struct.pack("<Q", len(payload))
    file.write(length + struct.pack("<I", masked_crc(length)))
    file.write(payload + struct.pack("<I", masked_crc(payload)))


def fill_tensor(tensor, dims, numbers):
    tensor.dims.extend(dims)
    tensor.data_type = graph_pb2.DT_FLOAT32
    tensor.float_data.extend(numbers)


def fill_points(points, dims, first):
    size = 1
    for dim in dims:
        size *= dim
    for number, axis in enumerate((points.x, points.y, points.z)):
        fill_tensor(axis, dims, ((first + number + i) / 3 for i in range(size)))


def add_landscape(summary, step):
    landscape = summary.value.add(tag="surface").loss_landscape
    fill_points(landscape.landscape, [2, 3], step)
    fill_points(landscape.loss_path.points, [4], -step)
    landscape.loss_path.intervals.extend(range(step, step + 4))
    landscape.metadata.decomposition = "PCA"
    landscape.metadata.unit = "epoch"
    landscape.metadata.step_per_epoch = 5
    fill_points(landscape.convergence_point, [1], 10 * step)


def add_values(summary, number, step):
    summary.value.add(tag="loss", scalar_value=step + number / 16)
    summary.value.add(tag="odd", scalar_value=float(("nan", "inf", "-inf", "1e-45")[step % 4]))
    image = summary.value.add(tag="picture").image
    image.height, image.width, image.colorspace = 4, 6, 3
    image.encoded_image = b"\x89PNG step %d" % number
    fill_tensor(summary.value.add(tag="weights").tensor, [2, 3], (number / 7 + i for i in range(6)))
    histogram = summary.value.add(tag="weights").histogram
    for i in range(5):
        histogram.buckets.add(left=i / 3 - step, width=1 / 3, count=i * step)
    histogram.min, histogram.max, histogram.count = -step, 5 / 3 - step, 10 * step
    add_landscape(summary, step)


def fill_type(type_, *dims):
    type_.data_type = graph_pb2.DT_TENSOR
    type_.tensor_type.elem_type = graph_pb2.DT_FLOAT32
    for dim in dims:
        type_.tensor_type.shape.dim.add(size=dim)


def add_node(graph, name, op, scope, inputs, full_name=""):
    node = graph.node.add(name=name, op_type=op, scope=scope)
    for source in inputs:
        node.input.add(name=source.lstrip("^"), type=CONTROL if source[0] == "^" else 0)
    if full_name:
        node.full_name = full_name
    fill_type(node.output_type, 2)
    return node


def fill_graph(graph):
    """Nodes with all the ways to be named that there are."""
    fill_type(graph.parameters.add(name="fc1.weight").type, 3, 2)
    constant = graph.const_vals.add(key="cst1").value
    constant.dtype, constant.int_val = graph_pb2.DT_INT32, 7
    convolution = add_node(graph, "1", "Conv2D", "Default/network", ["fc1.weight"])
    pad = convolution.attribute.add(name="pad").value
    pad.dtype, pad.str_val = graph_pb2.DT_STRING, "same"
    add_node(graph, "2", "ReLU", "Default/network", ["1", "cst1"])
    add_node(graph, "3", "MatMul", "Default/loss", ["2", "^1"], "Default/loss/MatMul-op17")
    add_node(graph, "4", "TensorSummary", "Default", ["3"], "weights[:Tensor]")
    add_node(graph, "Default/loss/Add-op5", "Add", "Default/loss", ["Default/loss/MatMul-op3"])
    add_node(graph, "", "Nameless", "Default", ["1"])


def fill_dataset(dataset, children):
    dataset.parameter.mapStr["dataset_dir"] = "/data/of/it"
    dataset.parameter.mapBool["shuffle"] = True
    dataset.parameter.mapInt["num_samples"] = 60000
    dataset.parameter.mapDouble["ratio"] = 0.75
    dataset.parameter.mapStrList["columns"].strValue.extend(["image", "", "label"])
    operation = dataset.operations.add(size=[28, 28], weights=[0.25, 0.1])
    operation.operationParam.mapStr["operation_name"] = "Resize"
    for _ in range(children):
        fill_dataset(dataset.children.add(), 0)


def lineage_events():
    for epoch in range(2):  # The last one counts.
        event = lineage_pb2.LineageEvent(wall_time=1700000000.5 + epoch)
        train = event.train_lineage
        train.hyper_parameters.optimizer = "Momentum"
        train.hyper_parameters.learning_rate = 0.1
        train.hyper_parameters.loss_function = "SoftmaxCrossEntropyWithLogits"
        train.hyper_parameters.epoch = epoch
        train.hyper_parameters.batch_size = 32
        train.train_dataset.train_dataset_path = "/data/of/it"
        train.train_dataset.train_dataset_size = 1875
        train.algorithm.network = "LeNet5"
        train.algorithm.loss = 0.0625
        train.model.path = '/models/"lenet"\n.ckpt'
        train.model.size = 2**40
        yield event
    event = lineage_pb2.LineageEvent(wall_time=1700000002.5)
    event.evaluation_lineage.metric = '{"Accuracy": 0.98}'
    event.evaluation_lineage.valid_dataset.valid_dataset_size = 312
    yield event
    event = lineage_pb2.LineageEvent(wall_time=1700000003.5)
    fill_dataset(event.dataset_graph, 2)
    yield event
    for number in range(2):  # They add up.
        event = lineage_pb2.LineageEvent(wall_time=1700000004.5)
        user = event.user_defined_info.user_info.add()
        user.map_str["note"] = "number %d" % number
        user.map_int32["number"] = number
        user.map_double["half"] = number / 2
        user.map_dict["inner"].map_str["deep"] = "er"
        yield event


def main(directory):
    name = directory + "/run.out.events.summary.1700000000.0.host_MS"
    with open(name, "wb") as file:
        write_record(file, summary_pb2.Event(wall_time=1.5, version="MindSpore.Event:1"))
        event = summary_pb2.Event(wall_time=1700000000.125)
        fill_graph(event.graph_def)
        write_record(file, event)
        for number, step in enumerate(STEPS):
            event = summary_pb2.Event(wall_time=1700000000.25 + number, step=step)
            add_values(event.summary, number, step)
            write_record(file, event)
    with open(name + "_lineage", "wb") as file:
        write_record(file, lineage_pb2.LineageEvent(wall_time=1.5, version="MindSpore.Event:1"))
        for event in lineage_events():
            write_record(file, event)


if __name__ == "__main__":
    main(sys.argv[1])
