"""The denoiser of examples/denoise: its weights in PyTorch, its plans through the package shiftconv, and the picture that the program denoises."""
import ast
import importlib.util
import math
import os
import pathlib
import struct
import sys
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
if "SHIFTCONV_INSTALLED" not in os.environ:
    sys.path.insert(0, str(ROOT / "conv/python"))

import shiftconv  # noqa: E402

EXAMPLE = ROOT / "examples/denoise"
IMAGE_CHANNELS = 8  # in memory: red, green, blue and zeros


def trainer():
    """examples/denoise/train.py as a module, which has the network in PyTorch."""
    spec = importlib.util.spec_from_file_location("train", EXAMPLE / "train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def layers():
    """LAYERS of train.py, without importing PyTorch."""
    for statement in ast.parse((EXAMPLE / "train.py").read_text()).body:
        if isinstance(statement, ast.Assign) and statement.targets[0].id == "LAYERS":
            return ast.literal_eval(statement.value)


LAYERS = layers()


def weights():
    """(filter [K,R,S,C/groups] f16, bias [K] f32) of each layer, from weights.bin."""
    data, at, found = (EXAMPLE / "weights.bin").read_bytes(), 0, []
    for channels, filters, taps, _, groups, _, _ in LAYERS:
        shape = (filters, taps, taps, channels // groups)
        filter = np.frombuffer(data, "<f2", math.prod(shape), at).reshape(shape)
        at += filter.nbytes
        found.append((filter, np.frombuffer(data, "<f4", filters, at)))
        at += 4 * filters
    assert at + 4 * len(LAYERS) == len(data)
    return found


def picture(path):
    """[height, width, 3] from 0 to 1, of a PNG file of 8 bits and three colours without interlacing."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, *form = struct.unpack(">IIBBBBB", data[at + 8:at + 21])
            assert form == [8, 2, 0, 0, 0], form
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    above, result = [0] * (3 * width), []
    for kind, *row in rows.tolist():
        for i in range(3 * width):
            left, corner = (row[i - 3], above[i - 3]) if i >= 3 else (0, 0)
            guess = left + above[i] - corner
            row[i] = row[i] + (0, left, above[i], (left + above[i]) // 2,
                               min((left, above[i], corner), key=lambda value: abs(guess - value)))[kind] & 255
        result.append(row)
        above = row
    return (np.array(result, np.float32) / np.float32(255)).reshape(height, width, 3)


def mersenneTwister(seed):
    """Numbers of std::mt19937_64."""
    mask = (1 << 64) - 1
    state = [seed]
    for i in range(1, 312):
        state.append((6364136223846793005 * (state[-1] ^ state[-1] >> 62) + i) & mask)
    while True:
        for i in range(312):
            x = state[i] & 0xFFFFFFFF80000000 | state[(i + 1) % 312] & 0x7FFFFFFF
            state[i] = state[(i + 156) % 312] ^ x >> 1 ^ (0xB5026F5AA96619E9 if x & 1 else 0)
        for x in state:
            x ^= x >> 29 & 0x5555555555555555
            x ^= x << 17 & 0x71D67FFFEDA60000
            x ^= x << 37 & 0xFFF7EEE000000000
            yield x ^ x >> 43


def withNoise(clean, sigma, seed):
    """What `denoise` adds to a picture."""
    numbers = mersenneTwister(seed)
    uniform = np.array([((next(numbers) >> 11) + 1) * 2.0**-53 for _ in range(2 * clean.size)]).reshape(-1, 2)
    noise = sigma / 255 * np.sqrt(-2 * np.log(uniform[:, 0])) * np.cos(2 * np.pi * uniform[:, 1])
    return clean + noise.astype(np.float32).reshape(clean.shape)


def psnr(result, clean):
    return float(-10 * np.log10(np.mean((np.clip(result.astype(np.float64), 0, 1) - clean) ** 2)))


class DeviceNetwork:
    """In f16, as device_network.cpp has it: the same problems, so the same plans."""

    def __init__(self, device, noisy):
        height, width, _ = noisy.shape
        image = np.zeros((height, width, IMAGE_CHANNELS), np.float16)
        image[..., :3] = noisy
        self.device, self.shape = device, (height, width, 3)
        self.runs, before, first = [], device.upload(image), None
        self.image = before
        for at, ((channels, filters, taps, stride, groups, upsample, relu), (filter, bias)) in enumerate(zip(LAYERS, weights())):
            if at == 0:
                filter = np.pad(filter, ((0, 0), (0, 0), (0, 0), (0, IMAGE_CHANNELS - channels)))
            last, added = at + 1 == len(LAYERS), first if upsample > 1 else self.image if at + 1 == len(LAYERS) else None
            problem = shiftconv.Problem(
                n=1, h=height, w=width, c=filter.shape[3] * groups, k=filters, r=taps, s=taps, groups=groups, stride_h=stride, stride_w=stride,
                upsample_h=upsample, upsample_w=upsample, has_bias=1, activation=int(relu), beta=0.0 if added is None else 1.0,
                **{f"pad_{side}": taps // 2 for side in ("top", "bottom", "left", "right")},
                **({"residual_pixel_pitch": IMAGE_CHANNELS, "output_type": shiftconv.Type.F32} if last else {}))
            plan, output = shiftconv.Plan(problem, device), shiftconv.Memory(device, problem.tensor_bytes.output)
            tensors = {"input": before, "filter": device.upload(np.ascontiguousarray(filter)), "bias": device.upload(bias), "output": output}
            if added is not None:
                tensors["residual"] = added
            if plan.workspace_bytes:
                tensors["workspace"] = shiftconv.Memory(device, plan.workspace_bytes)
            self.runs.append((plan, tensors))
            before, first = output, first or output
            height, width = height * upsample // stride, width * upsample // stride

    def run(self, stream=None):
        for plan, tensors in self.runs:
            plan.run(self.device, stream, **tensors)

    def result(self):
        return np.frombuffer(self.runs[-1][1]["output"].download(), np.float32).reshape(self.shape)
