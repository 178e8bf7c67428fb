"""Distributed tensors in two processes, on the emulated device: convolutions of parts, against the whole."""

import os
import socket
import sys
import unittest

try:
    import torch
    import torch.nn.functional as F
    from torch import distributed, nn
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module, distribute_tensor, init_device_mesh
except ImportError as error:
    print(f"skipped: {error} (./bootstrap test --with torch fetches PyTorch)")
    sys.exit(77)

import shiftconv
import shiftconv.torch as sct

RANKS = 2


def random(*shape, seed=1):
    """Multiples of 1/8 in -2..2, so that every sum is exact."""
    generator = torch.Generator().manual_seed(seed)
    made = (torch.randint(-16, 17, shape, generator=generator) / 8).half()
    return made.contiguous(memory_format=torch.channels_last) if len(shape) == 4 else made


def placed(tensor, mesh, *placements):
    return distribute_tensor(tensor, mesh, placements)


def check(y, expected, placement):
    """The result, whole, and how it was split."""
    assert isinstance(y, DTensor) and y.placements == (placement,), y
    assert y.shape == expected.shape, (y.shape, expected.shape)
    assert torch.equal(y.full_tensor().float(), expected.half().float())


def along_the_batch(mesh):
    x, w, bias = random(5, 8, 6, 7), random(16, 8, 3, 3, seed=2), random(16, seed=3)
    residual, scale = random(5, 16, 4, 5, seed=4), torch.full((16,), 0.5)
    whole = [placed(t, mesh, Replicate()) for t in (w, bias)]
    expected = F.conv2d(x.float(), w.float()) * 0.5 + bias.float().view(-1, 1, 1) + residual.float()
    y = sct.conv(
        placed(x, mesh, Shard(0)), *whole, placed(residual, mesh, Shard(0)), channel_scale=placed(scale, mesh, Replicate()),
        activation="relu",
    )  # fmt: skip
    check(y, expected.relu(), Shard(0))
    assert y.to_local().shape[0] == (3, 2)[distributed.get_rank()], "each rank convolves its own images"
    y = sct.conv(placed(x, mesh, Shard(0)), *whole, placed(residual, mesh, Shard(0)), activation="relu", residual_last=True)
    check(y, F.conv2d(x.float(), w.float(), bias.float()).relu() + residual.float(), Shard(0))
    # What a call before decided about holds for these settings only.
    for stride in (1, 2):
        check(sct.conv(placed(x, mesh, Shard(0)), whole[0], stride=stride), F.conv2d(x.float(), w.float(), stride=stride), Shard(0))


def along_the_filters(mesh):
    x, w, bias = random(1, 8, 6, 7), random(16, 8, 3, 3, seed=2), random(16, seed=3)
    residual = random(1, 16, 4, 5, seed=4)
    y = sct.conv(
        placed(x, mesh, Replicate()), placed(w, mesh, Shard(0)), placed(bias, mesh, Shard(0)), placed(residual, mesh, Shard(1))
    )
    check(y, F.conv2d(x.float(), w.float(), bias.float()) + residual.float(), Shard(1))
    assert y.to_local().shape[1] == 8


def redistributed(mesh):
    """Splits that no convolution of parts can do."""
    x, w = random(2, 8, 6, 8), random(16, 8, 3, 3, seed=2)
    for at in (1, 2, 3):
        y = sct.conv(placed(x, mesh, Shard(at)), placed(w, mesh, Replicate()), padding=1)
        assert torch.equal(y.full_tensor().float(), F.conv2d(x.float(), w.float(), padding=1).half().float())
    y = sct.conv(placed(x[:1], mesh, Shard(0)), placed(w, mesh, Replicate()))  # the second rank has no image
    assert torch.equal(y.full_tensor().float(), F.conv2d(x[:1].float(), w.float()).half().float())
    groups = random(16, 4, 3, 3, seed=3)
    y = sct.conv(placed(x, mesh, Replicate()), placed(groups, mesh, Shard(0)), groups=2)
    assert torch.equal(y.full_tensor().float(), F.conv2d(x.float(), groups.float(), groups=2).half().float())


def a_model(mesh):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 8, 1)).eval()
    x = random(4, 8, 5, 6)
    fast = sct.replace(model, x)
    alone = fast(x)
    y = distribute_module(fast, mesh)(placed(x, mesh, Shard(0)))
    check(y, alone, Shard(0))


def refusals(mesh):
    x = placed(random(2, 8, 4, 4), mesh, Shard(0))
    try:
        with torch.enable_grad():
            sct.conv(x, placed(random(8, 8, 1, 1).requires_grad_(), mesh, Replicate()))
    except NotImplementedError as error:
        assert "w requires grad" in str(error)
    else:
        raise AssertionError("a gradient was not refused")


CASES = [along_the_batch, along_the_filters, redistributed, a_model, refusals]


def work(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    shiftconv.emulate("sm_90a")
    distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    mesh = init_device_mesh("cpu", (RANKS,))
    with torch.no_grad():
        for case in CASES:
            case(mesh)
    distributed.barrier()
    distributed.destroy_process_group()
    # PyTorch 2.11 sometimes ends with std::terminate, in destructors of its own threads, when its interpreter shuts down.
    os._exit(0)


class Sharding(unittest.TestCase):
    def test_two_ranks(self):
        """All cases in one pair of processes; a failure shows as the exception of the rank that failed."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        torch.multiprocessing.spawn(work, args=(port,), nprocs=RANKS)


if __name__ == "__main__":
    unittest.main()
