"""Prints the events of a yard. usage: listen.py ipc:///run/user/1000/yard/hub-sub [PREFIX]"""
import sys

import zmq
from msg import Envelope, Kind

socket = zmq.Context().socket(zmq.SUB)
socket.connect(sys.argv[1])
for prefix in sys.argv[2:] or [""]:
    socket.subscribe(prefix)
while True:
    topic, frame = socket.recv_multipart()
    event = Envelope.Envelope.GetRootAs(frame)
    if event.Kind() == Kind.Kind.Tail:  # No event: the publisher says again which number was the last.
        continue
    text = bytes(event.PayloadAsNumpy()) if event.PayloadLength() else b""
    print(topic.decode(), event.Head().Seq(), text.decode(errors="replace"), flush=True)
