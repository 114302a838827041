"""Prints the events of a yard. usage: listen.py ipc:///run/user/1000/yard/hub-sub [PREFIX]"""
import sys

import zmq
from msg import Envelope

socket = zmq.Context().socket(zmq.SUB)
socket.connect(sys.argv[1])
for prefix in sys.argv[2:] or [""]:
    socket.subscribe(prefix)
while True:
    topic, frame = socket.recv_multipart()
    event = Envelope.Envelope.GetRootAs(frame)
    text = bytes(event.PayloadAsNumpy()) if event.PayloadLength() else b""
    print(topic.decode(), event.Head().Seq(), text.decode(errors="replace"), flush=True)
