"""Lists the services of a yard. usage: services.py ipc:///run/user/1000/yard/registry"""
import sys

import flatbuffers
import zmq
from msg import Body, Envelope, Kind, ListReply, ListRequest

b = flatbuffers.Builder(256)
method = b.CreateString("List")
ListRequest.Start(b)
body = ListRequest.End(b)
Envelope.Start(b)
Envelope.AddKind(b, Kind.Kind.Request)
Envelope.AddMethod(b, method)
Envelope.AddBodyType(b, Body.Body.ListRequest)
Envelope.AddBody(b, body)
b.Finish(Envelope.End(b), file_identifier=b"YBE1")

socket = zmq.Context().socket(zmq.REQ)
socket.connect(sys.argv[1])
socket.send(b.Output())
answer = Envelope.Envelope.GetRootAs(socket.recv()).Body()
services = ListReply.ListReply()
services.Init(answer.Bytes, answer.Pos)
for i in range(services.LeasesLength()):
    print(services.Leases(i).Name().decode(), services.Leases(i).Endpoints(0).decode())
