"""Prints what MindInsight's loader reads in a run's directory, in the form of read_with_tensorboard.py.

    read_with_mindinsight.py DIRECTORY
"""

import base64
import json
import sys

from mindinsight.datavisual.data_transform.ms_data_loader import MSDataLoader


def text(data):
    return base64.b64encode(data).decode()


def tensor(shape, numbers):
    return {"shape": list(shape), "values": [repr(float(number)) for number in numbers]}


def image(value):
    return [text(b"%d" % value.width), text(b"%d" % value.height), text(value.encoded_image)]


def histogram(value):
    rows = [(bucket.left, bucket.left + bucket.width, bucket.count)
            for bucket in value.histogram._original_buckets]  # Its buckets() are others, for plots.
    return tensor((len(rows), 3), [number for row in rows for number in row])


FORMS = {
    "scalar": lambda value: repr(float(value)),
    "image": image,
    "tensor": lambda value: tensor(value.dims, value.tensor_value.flatten().tolist()),
    "histogram": histogram,
}


def main(directory):
    loader = MSDataLoader(directory)
    loader.load()
    events = loader.get_events_data()
    json.dump({tag: {"plugin": plugin,
                     "values": [[event.step, event.wall_time, form(event.value)]
                                for event in events.tensors(tag)]}
               for plugin, form in FORMS.items() for tag in events.list_tags_by_plugin(plugin)},
              sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
