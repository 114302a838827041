"""Lists the services of a yard. usage: services.py ipc:///run/user/1000/yard/registry"""
import sys

import flatbuffers
import zmq
from msg import Body, Envelope, Kind, ListRequest

request = Envelope.EnvelopeT()
request.kind, request.method = Kind.Kind.Request, "List"
request.bodyType, request.body = Body.Body.ListRequest, ListRequest.ListRequestT()
b = flatbuffers.Builder()
b.Finish(request.Pack(b), file_identifier=b"YBE1")

socket = zmq.Context().socket(zmq.REQ)
socket.connect(sys.argv[1])
socket.send(b.Output())
answer = Envelope.EnvelopeT.InitFromObj(Envelope.Envelope.GetRootAs(socket.recv()))
for lease in answer.body.leases:
    print(lease.name.decode(), lease.endpoints[0].decode())
