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


def point(step):
    value = b"\x0a\x04loss" + struct.pack("<Bf", 0x15, step)
    summary = bytes([0x0A, len(value)]) + value
    return record(struct.pack("<BdBBBB", 0x09, 1.0, 0x10, step, 0x2A, len(summary)) + summary)


def points(first, end):
    return b"".join(point(step) for step in range(first, end))
