"""A linear model trained by torch's DistributedDataParallel over gloo, with a checkpoint a step.

    ddp_fit.py FOLDER [RANK STEP]

The first time rank RANK comes to step STEP it writes its process id to FOLDER/victim and waits there
for its end, while the others wait for it in an all-reduce. Prints the same sum and the same weight on
every rank, whether it was interrupted or not.
"""

import datetime
import os
import signal
import sys

import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

STEPS = 30


def store(path, text):
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


def load(path, model):
    """The step to go on with, and the sum so far."""
    if not os.path.exists(path):
        return 0, 0.0
    state = torch.load(path)
    model.load_state_dict(state["model"])
    return state["step"], state["sum"]


def save(path, model, step, total):
    torch.save({"model": model.state_dict(), "step": step, "sum": total}, path + ".new")
    os.rename(path + ".new", path)


def main(folder, stop_rank=-1, stop_step=-1):
    # Each wait for another rank ends: gloo's own limit is half an hour.
    torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    model = DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.004)
    checkpoint = os.path.join(folder, "checkpoint")
    begin, total = load(checkpoint, model)
    print("rank %d of %d: port %s, restarts %d, from step %d" %
          (rank, size, os.environ["MASTER_PORT"], restarts, begin), flush=True)
    if begin == 0:
        torch.nn.init.zeros_(model.module.weight)
    points = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]) * (rank + 1)
    for step in range(begin, STEPS):
        if restarts == 0 and (rank, step) == (stop_rank, stop_step):
            store(os.path.join(folder, "victim"), str(os.getpid()))
            signal.pause()
        optimizer.zero_grad()
        target = points.sum(dim=1, keepdim=True)
        ((model(points) - target) ** 2).mean().backward()
        optimizer.step()
        part = torch.tensor([float(rank + 1)])
        torch.distributed.all_reduce(part)
        total += part.item()
        if rank == 0:
            save(checkpoint, model, step + 1, total)
    print("rank %d: sum %.1f weight %.5f" % (rank, total, model.module.weight[0, 0].item()),
          flush=True)
    leave()


def leave():
    """Waits until all ranks have read the last sum: a rank that ends before closes its connections under the others."""
    try:
        torch.distributed.barrier()
    except RuntimeError:
        pass  # A rank is gone, so it had passed the barrier, and every rank has read the sum.
    torch.distributed.destroy_process_group()


main(sys.argv[1], *map(int, sys.argv[2:]))
