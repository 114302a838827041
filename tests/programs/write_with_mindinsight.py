"""Writes a run in MindSpore's format with MindInsight's own messages.

    write_with_mindinsight.py DIRECTORY
"""

import struct
import sys

from mindinsight.datavisual.proto_files import mindinsight_summary_pb2 as summary_pb2

STEPS = [*range(8), 5]  # One of them was written again.
FLOAT32 = 11  # MindSpore's number.


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


def add_values(summary, number, step):
    summary.value.add(tag="loss", scalar_value=step + number / 16)
    summary.value.add(tag="odd", scalar_value=float(("nan", "inf", "-inf", "1e-45")[step % 4]))
    image = summary.value.add(tag="picture").image
    image.height, image.width, image.colorspace = 4, 6, 3
    image.encoded_image = b"\x89PNG step %d" % number
    tensor = summary.value.add(tag="weights").tensor
    tensor.dims.extend([2, 3])
    tensor.data_type = FLOAT32
    tensor.float_data.extend(number / 7 + i for i in range(6))
    histogram = summary.value.add(tag="weights").histogram
    for i in range(5):
        histogram.buckets.add(left=i / 3 - step, width=1 / 3, count=i * step)
    histogram.min, histogram.max, histogram.count = -step, 5 / 3 - step, 10 * step


def main(directory):
    with open(directory + "/run.out.events.summary.1700000000.0.host_MS", "wb") as file:
        write_record(file, summary_pb2.Event(wall_time=1.5, version="MindSpore.Event:1"))
        for number, step in enumerate(STEPS):
            event = summary_pb2.Event(wall_time=1700000000.25 + number, step=step)
            add_values(event.summary, number, step)
            write_record(file, event)


if __name__ == "__main__":
    main(sys.argv[1])
