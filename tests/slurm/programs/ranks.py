"""All ranks meet at MASTER_ADDR:MASTER_PORT over TCP; each prints what it has found as one line of JSON.

    ranks.py [SECONDS_TO_STAY]
"""

import json
import os
import socket
import sys
import time

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
master = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
limit = time.monotonic() + 60

if rank == 0:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.settimeout(60)
        listener.bind(("", master[1]))
        listener.listen(size)
        others = [listener.accept()[0] for _ in range(size - 1)]
    met = sorted(json.loads(other.makefile().readline()) for other in others)
    for other in others:
        other.sendall(json.dumps(met).encode() + b"\n")
else:
    while True:
        try:
            other = socket.create_connection(master, timeout=10)
            break
        except ConnectionRefusedError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.05)
    other.sendall(json.dumps([rank, other.getsockname()[0]]).encode() + b"\n")
    met = json.loads(other.makefile().readline())

names = ("MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "TF_CONFIG", "CUDA_VISIBLE_DEVICES", "YARD_RUN", "YARD_LOGDIR")
row = {"rank": rank, "size": size, "host": socket.gethostname(), "met": met, "slurm": sorted(name for name in os.environ if name.startswith(("SLURM_", "SBATCH_"))),
       **{name: os.environ.get(name) for name in names}}
sys.stdout.write(json.dumps(row) + "\n")
sys.stdout.flush()
time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0)
