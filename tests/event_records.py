"""Records of event files, byte by byte, so that a test can write damaged ones."""

import struct


def masked_crc(data):
    """CRC-32C, masked as records have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(payload, length=None):
    header = struct.pack("<Q", len(payload) if length is None else length)
    return (header + struct.pack("<I", masked_crc(header)) + payload +
            struct.pack("<I", masked_crc(payload)))


def field(number, content):
    """A field of a protobuf message: bytes, or a number."""
    is_number = isinstance(content, int)
    head = varint(number << 3 | (0 if is_number else 2))
    return head + (varint(content) if is_number else varint(len(content)) + content)


def varint(number):
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(data) + bytes([number])


def event(step, fields, wall_time=1.0):
    return record(struct.pack("<Bd", 0x09, wall_time) + field(2, step) + fields)


def value(tag, fields):
    """The summary of an event, with one value."""
    return field(5, field(1, field(1, tag) + fields))


def point(step, wall_time=1.0):
    return event(step, value(b"loss", struct.pack("<Bf", 0x15, step)), wall_time)


def points(first, end):
    return b"".join(point(step) for step in range(first, end))
