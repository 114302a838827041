"""Calls of TensorBoard's data provider by HTTP/2, as TensorBoard makes them, without a library of gRPC."""

import socket
import struct

from tests import event_records

HEADERS, DATA, SETTINGS, PING, WINDOW_UPDATE, END_STREAM, END_HEADERS, ACK = 1, 0, 4, 6, 8, 1, 4, 1
INITIAL_WINDOW = 4  # The setting.
WINDOW = 0x7fff0000  # More than all answers together have.
PATIENCE = 300  # Seconds.
PROVIDER = "/tensorboard.data.TensorBoardDataProvider/"


def frame(kind, flags, stream, body):
    return struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body


class HungUp(Exception):
    """The server has closed the connection."""


class Connection:
    """One call after the other."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = -1
        self.received = bytearray()
        self.data = bytearray()
        settings = struct.pack(">HI", INITIAL_WINDOW, WINDOW)
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, settings) +
                            frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", WINDOW)))

    def send(self, method, message=b""):
        self.stream += 2
        self.data.clear()
        fields = b"\x83\x86"  # :method POST, :scheme http, then literals.
        for name, value in ((b":path", (PROVIDER + method).encode()), (b":authority", b"localhost"),
                            (b"content-type", b"application/grpc"), (b"te", b"trailers")):
            fields += b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
        self.socket.sendall(frame(HEADERS, END_HEADERS, self.stream, fields) +
                            frame(DATA, END_STREAM, self.stream, struct.pack(">BI", 0, len(message)) + message))

    def receive(self):
        """Takes what has come, one piece at least; whether the call has ended."""
        some = self.socket.recv(1 << 18)
        if not some:
            raise HungUp
        self.received += some
        ended = False
        while len(self.received) >= 9:
            size = int.from_bytes(self.received[:3], "big")
            if len(self.received) < 9 + size:
                break
            kind, flags, stream = self.received[3], self.received[4], int.from_bytes(self.received[5:9], "big")
            body = self.received[9:9 + size]
            del self.received[:9 + size]
            if kind in (SETTINGS, PING) and not flags & ACK:
                self.socket.sendall(frame(kind, ACK, 0, b"" if kind == SETTINGS else bytes(body)))
            if stream == self.stream and kind == DATA:
                self.data += body
            if stream == self.stream and flags & END_STREAM and kind in (HEADERS, DATA):
                ended = True
        return ended

    def call(self, method, message=b""):
        """The answer's message; nothing if it is an error."""
        self.send(method, message)
        while not self.receive():
            pass
        return bytes(self.data[5:])

    def close(self):
        self.socket.close()


def read_scalars(run, tag, points):
    """The message that asks for them."""
    field = event_records.field
    filters = field(1, field(1, run.encode())) + field(2, field(1, tag.encode()))
    return field(2, field(1, b"scalars")) + field(3, filters) + field(4, field(1, points))
