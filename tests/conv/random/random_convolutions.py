#!/usr/bin/env python3
"""Random problems of the whole problem space, run by every algorithm that accepts them on the emulated sm_100a and sm_90a, with random
options, schedules and numbers of multiprocessors. Every output element is compared with float64 results of NumPy under a derived bound
(reference.py), and every bit that must not be written with what stood there. Nothing here is shared with the library: not its text
parser, layouts, formats nor reference.

    random_convolutions.py --driver PROGRAM [--device NAME] [--products N] [--problems N] [--seconds T] [--seed S] [--only I] [--least N]

prints the seed, the runs of each algorithm, and every difference with what repeats it: --seed S --only I runs problem I alone. Where chance
gave an algorithm fewer than --least runs, more problems are drawn, at most MOST_DRAWN times as many. An algorithm that has not had its
runs by then is a failure. With --device cuda:0 every problem runs on that GPU, and algorithms that it does not have need no runs.
With --products problems are layers of networks with at most so many products, instead of the small ones that an emulator is made for.
"""
import argparse
import collections
import dataclasses
import re
import secrets
import subprocess
import sys
import time

import numpy as np

import families
import reference
from formats import FORMATS, INTEGERS, factor_offsets, pack, unpack
from left_out import is_left_out

DEVICES = ("sm_100a", "sm_90a")
SCHEDULES = ("earliest", "latest", "random", "random")
SELF_CHECKS = 40
MOST_RUNS = 4  # of a problem
MOST_DRAWN = 4


class Driver:
    def __init__(self, program, device):
        self.process = subprocess.Popen([program, *filter(None, [device])], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line, tensors=()):
        pipe = self.process.stdin
        pipe.write(line.encode() + b"\n")
        for tensor in tensors:
            pipe.write(np.uint64(tensor.size).tobytes() + tensor.tobytes())
        pipe.flush()
        words = self.process.stdout.readline().split()
        if len(words) != 2:
            raise SystemExit(f"the driver ended at: {line}")
        return words[0].decode(), self.process.stdout.read(int(words[1]))

    def run(self, line, tensors):
        """Status, how the plan sums, and what the run wrote or the sentence why not."""
        status, answer = self.ask(line, tensors)
        if status != "ok":
            return status, [], answer
        sums, _, written = answer.partition(b"\n")
        return status, sums.decode().split(), written

    def options(self):
        """For each algorithm the values that its options may have."""
        algorithms = {}
        for line in self.ask("names")[1].decode().splitlines():
            if not line.startswith("  "):
                chosen = algorithms[line] = {}
            elif match := re.match(r"  (\S+)\s+(.*?)(\s{2,}|$)", line):
                chosen[match[1]] = self.values(match[2])
        return algorithms

    @staticmethod
    def values(text):
        if match := re.match(r"multiples of (\d+) from (\d+) to (\d+)", text):
            step, low, high = map(int, match.groups())
            return [str(value) for value in range(low, high + 1, step)]
        if match := re.match(r"(\d+) to (\d+)", text):
            return [str(value) for value in range(int(match[1]), min(int(match[2]), 4) + 1)]
        return [word.strip() for word in text.split(",")]


class Tensors:
    """Random contents: bytes in the problem's layout, and the values that they mean."""

    def __init__(self, p, random):
        self.p, self.random, self.bytes, self.values = p, random, {}, {}
        pixels = p.n * int(np.prod(p.extent))
        self.outputs = p.n * int(np.prod(p.outputs()))
        taps = p.k * int(np.prod(p.taps))
        self.bytes["second_input"] = np.zeros(0, np.uint8)
        if p.split_c or p.split_d:
            x = self.split(pixels)
        else:
            x = self.operand("input", p.input_type, pixels, p.c, p.input_pitch or p.c, p.input_scale, p.input_first)
        w = self.operand("filter", p.filter_type, taps, p.group_channels(), p.group_channels(), p.filter_scale)
        # Elements before the zero point, and factors: what the bound of tensor cores asks for.
        self.operands = (x, w)
        self.x = ((x[0] - p.input_zero) * x[1]).reshape(p.n, *p.extent, p.c)
        self.w = ((w[0] - p.filter_zero) * w[1]).reshape(p.k, *p.taps, p.group_channels())
        if p.flipped:
            self.w = self.w[:, ::-1, ::-1, ::-1]
        self.vector("bias", p.bias_type, -2, 2)
        self.vector("channel_scale", "f32" if p.channel_scale else "", 0.5, 2)
        self.bytes["residual"] = np.zeros(0, np.uint8)
        if p.beta != 0:
            codes = self.codes(p.residual_type, (self.outputs, p.k))
            self.bytes["residual"] = self.rows(codes, p.residual_type, p.residual_pitch or p.k, p.output_first)
            self.values["residual"] = FORMATS[p.residual_type].decode(codes).reshape(p.n, *p.outputs(), p.k)
        self.poison()

    def codes(self, kind, shape):
        """Finite numbers: any of the types of 8 bits and less; of the others about 1 in magnitude, or, in a fifth of all tensors, from
        subnormal f16 to 2^6."""
        count, form = int(np.prod(shape)), FORMATS[kind]
        if form.bits <= 8:
            codes = self.random.integers(0, 2**form.bits, count)
            if kind == "e5m2" and self.random.random() < 0.8:  # mostly within the range of f16's squares
                codes = codes & 0x80 | self.random.integers(0x20, 0x48, count)
            if kind not in INTEGERS:
                codes = np.where(np.isfinite(form.decode(codes)), codes, 0)
            return codes.reshape(shape)
        values = self.random.uniform(-1, 1, count)
        if self.random.random() < 0.2:
            values = np.copysign(2.0 ** self.random.uniform(-24, 6, count), values)
        single = values.astype(np.float32)
        if kind == "f16":
            return single.astype(np.float16).view(np.uint16).reshape(shape)
        codes = single.view(np.uint32)
        return (codes >> 16 if kind == "bf16" else codes).reshape(shape)

    def rows(self, codes, kind, pitch, first=False):
        """[rows][channels] with gaps of ones: NaN, or the last integer; with the channels first [images][channels][rows of an image]."""
        if first:
            return pack(codes.reshape(self.p.n, -1, codes.shape[1]).transpose(0, 2, 1).reshape(-1), FORMATS[kind].bits)
        rows, channels = codes.shape
        bits = FORMATS[kind].bits
        spread = np.full((rows, pitch), 2**bits - 1, np.uint64)
        spread[:, :channels] = codes
        count = (rows - 1) * pitch + channels
        return pack(np.append(spread.reshape(-1)[:count], [2**bits - 1] * (-count % 8)), bits)[: -(-count * bits // 8)]

    def operand(self, name, kind, rows, channels, pitch, scale, first=False):
        codes = self.codes(kind, (rows, channels))
        self.bytes[name] = self.rows(codes, kind, pitch, first)
        shown = codes & 0xFFFFE000 if kind == "f32" and self.p.tf32 else codes
        values, factors = FORMATS[kind].decode(shown), np.ones((rows, channels))
        self.bytes[name + "_scale"] = np.zeros(0, np.uint8)
        if scale.block:
            blocks = -(-channels // scale.block)
            low, high = (124, 131) if scale.type == "ue8m0" else (0x20, 0x50)
            offsets, size = factor_offsets(rows, blocks, scale.interleaved)
            stored = self.random.integers(low, high, size).astype(np.uint8)
            self.bytes[name + "_scale"] = stored
            factors = np.repeat(FORMATS[scale.type].decode(stored[offsets]), scale.block, axis=1)[:, :channels]
        return values, factors

    def split(self, pixels):
        """The input in two tensors."""
        p = self.p
        self.bytes["input_scale"] = np.zeros(0, np.uint8)
        codes = self.codes(p.input_type, (p.n, *p.extent, p.c))
        axis, at = (4, p.split_c) if p.split_c else (1, p.split_d)
        for name, part, pitch in zip(("input", "second_input"), np.split(codes, [at], axis), (p.input_pitch, p.second_pitch)):
            channels = part.shape[4]
            self.bytes[name] = self.rows(part.reshape(-1, channels), p.input_type, pitch or channels)
        shown = codes & 0xFFFFE000 if p.input_type == "f32" and p.tf32 else codes
        return FORMATS[p.input_type].decode(shown).reshape(pixels, p.c), np.ones((pixels, p.c))

    def vector(self, name, kind, low, high):
        self.bytes[name] = np.zeros(0, np.uint8)
        if not kind:
            return
        values = self.random.uniform(low, high, self.p.k).astype(np.float32)
        if kind == "f16":
            codes = values.astype(np.float16).view(np.uint16)
        else:
            codes = values.view(np.uint32) >> (16 if kind == "bf16" else 0)
        self.bytes[name], self.values[name] = pack(codes, FORMATS[kind].bits), FORMATS[kind].decode(codes)

    def poison(self):
        """What written tensors hold before a run."""
        p = self.p
        count = (self.outputs - 1) * (p.output_pitch or p.k) + p.k
        self.bytes["output"] = self.random.integers(0, 256, -(-count * FORMATS[p.output_type].bits // 8)).astype(np.uint8)
        blocks = -(-p.k // p.output_scale.block) if p.output_scale.block else 0
        size = factor_offsets(self.outputs, blocks, p.output_scale.interleaved)[1] if blocks else 0
        self.bytes["output_scale"] = self.random.integers(0, 256, size).astype(np.uint8)
        self.bytes["amax"] = np.zeros(4 if p.amax else 0, np.uint8)

    ORDER = ("input", "filter", "bias", "residual", "channel_scale", "input_scale", "filter_scale", "second_input", "output", "output_scale",
             "amax")

    def all(self):
        return [self.bytes[name] for name in self.ORDER]


def by_pixel(p, outputs):
    """[pixels][channels], whatever the layout."""
    if p.output_first:
        outputs = outputs.reshape(p.n, p.k, -1).transpose(0, 2, 1)
    return outputs.reshape(-1, p.k)


class Judge:
    """The expected outputs of a problem under some ways of summing."""

    def __init__(self, p, tensors, sums, magnitudes, ways):
        self.p, self.before = p, dict(tensors.bytes)
        error = np.maximum.reduce([reference.sum_error(p, way, magnitudes, tensors.operands) for way in ways])
        self.v, scaled = reference.epilogue(p, reference.Numbers(sums, error), tensors.values)
        flat = lambda numbers: reference.Numbers(numbers.value.reshape(-1, p.k), numbers.error.reshape(-1, p.k))
        self.scaled = flat(scaled)
        self.share = 0.0

    def difference(self, written):
        """"" or the first difference. `written`: output, output_scale and amax behind one another."""
        p, form = self.p, FORMATS[self.p.output_type]
        sizes = [self.before[name].size for name in ("output", "output_scale", "amax")]
        raw = np.frombuffer(written, np.uint8)
        if raw.size != sum(sizes):
            return f"{raw.size} bytes instead of {sum(sizes)}"
        output, factors, amax = np.split(raw, np.cumsum(sizes)[:2])
        rows, pitch = len(self.scaled.value), p.output_pitch or p.k
        count = (rows - 1) * pitch + p.k
        # Every code of the last byte, and gaps: the same as before.
        stored = output.size * 8 // form.bits
        codes, former = unpack(output, form.bits, stored), unpack(self.before["output"], form.bits, stored)
        used = np.arange(stored) % pitch < p.k
        used[count:] = False
        changed = np.flatnonzero(~used & (codes != former))
        if changed.size:
            return f"element {changed[0] % pitch} behind the {p.k} channels of pixel {changed[0] // pitch} was written"
        found = by_pixel(p, form.decode(codes[used]))
        text = self.blocks(found, factors) if p.output_scale.block else self.elements(found, self.scaled, form)
        return text or self.maximum(amax)

    def elements(self, found, numbers, form, factor=1.0):
        p = self.p
        zero = p.output_zero
        ends = []
        for end in (numbers.value - numbers.error, numbers.value + numbers.error):
            rounded = form.round(end / factor) if p.output_type not in INTEGERS else np.clip(np.rint(end) + zero, form.low, form.high)
            ends.append(rounded)
        right = (ends[0] <= found) & (found <= ends[1])
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.abs(found * factor - zero - numbers.value) / numbers.error
            self.share = max(self.share, np.nanmax(np.where(right & (p.output_type == "f32"), share, 0), initial=0))
        if right.all():
            return ""
        at = np.unravel_index(np.argmin(right), right.shape)
        place = np.unravel_index(at[0], (p.n, *p.outputs()))
        return (f"{np.count_nonzero(~right)} of {right.size} elements, the first at (n, z, p, q, k) = {tuple(map(int, place))}, {at[1]}: "
                f"{found[at]} is not from {ends[0][at]} to {ends[1][at]}; exactly {numbers.value[at]} within {numbers.error[at]:.3g}")

    def blocks(self, found, factors):
        p, form, kind = self.p, FORMATS[self.p.output_type], FORMATS[self.p.output_scale.type]
        size, rows = p.output_scale.block, len(found)
        count = -(-p.k // size)
        offsets, _ = factor_offsets(rows, count, p.output_scale.interleaved)
        padding = np.ones(factors.size, bool)
        padding[offsets] = False
        if factors[padding].any():
            return f"factor {np.flatnonzero(padding & (factors != 0))[0]} of padding is not 0"
        # nvfp4 divides the maximum by 6 and values by the factor with two roundings and an approximate reciprocal: 5u.
        slack = 5 * reference.U if p.output_scale.type == "ue4m3" else 0
        value = np.zeros((rows, count * size))
        error = np.zeros_like(value)
        value[:, : p.k], error[:, : p.k] = self.scaled.value, self.scaled.error
        of_blocks = lambda numbers: numbers.reshape(rows, count, size).max(axis=2)
        low = kind.of_block(of_blocks(np.maximum(np.abs(value) - error, 0)) * (1 - slack), form)
        high = kind.of_block(of_blocks(np.abs(value) + error) * (1 + slack), form)
        factor = kind.decode(factors[offsets])
        right = (low <= factor) & (factor <= high)
        if not right.all():
            at = np.unravel_index(np.argmin(right), right.shape)
            return f"the factor of pixel {at[0]}, block {at[1]} is {factor[at]}, not from {low[at]} to {high[at]}"
        wide = np.repeat(factor, size, axis=1)[:, : p.k]
        if (found[wide == 0] != 0).any():
            return "an element under a factor of 0 is not 0"
        numbers = reference.Numbers(self.scaled.value, self.scaled.error + slack * (np.abs(self.scaled.value) + self.scaled.error))
        usable = np.where(wide == 0, 1, wide)
        numbers = reference.Numbers(np.where(wide == 0, 0, numbers.value), np.where(wide == 0, 0, numbers.error))
        return self.elements(found, numbers, form, usable)

    def maximum(self, amax):
        if not self.p.amax:
            return ""
        found = float(amax.view("<f4")[0])
        before = float(self.before["amax"].view("<f4")[0])
        magnitude = np.abs(self.v.value)
        low, high = max(before, (magnitude - self.v.error).max()), max(before, (magnitude + self.v.error).max())
        return "" if low <= found <= high else f"amax is {found}, not from {low} to {high}; it was {before}"


def spoilt(judge, written, random):
    """The same outputs with something wrong that has to be noticed: the sign of the number that is farthest from 0, a bit of a gap, the
    factor of its block, or the maximum. None where that number is 0."""
    p, form = judge.p, FORMATS[judge.p.output_type]
    pitch, channels = p.output_pitch or p.k, p.k
    margin = np.abs(judge.scaled.value) - judge.scaled.error
    pixel, channel = np.unravel_index(np.argmax(margin), margin.shape)
    raw = np.frombuffer(written, np.uint8).copy()
    of_image = len(margin) // p.n
    element = pixel * pitch + channel
    if p.output_first:
        element = (pixel // of_image * channels + channel) * of_image + pixel % of_image
    if margin[pixel, channel] <= 0 or form.decode(unpack(raw, form.bits, element + 1))[element] == 0:
        return None
    # A changed bit makes a factor wrong by a third at least; where the number is known to a twentieth, that shows.
    sure = margin[pixel, channel] > 20 * judge.scaled.error[pixel, channel]
    parts = (["number"] + ["gap"] * (pitch > channels and len(margin) > 1) + ["factor"] * bool(p.output_scale.block and sure)
             + ["amax"] * p.amax)
    part = random.choice(parts)
    if part == "amax":
        raw[-4:] = np.array([2.0**100], "<f4").view(np.uint8)
    elif part == "factor":
        size = p.output_scale.block
        offsets, _ = factor_offsets(len(margin), -(-p.k // size), p.output_scale.interleaved)
        raw[judge.before["output"].size + int(offsets[pixel, channel // size])] ^= 4
    else:
        low, high = (channels * form.bits, pitch * form.bits) if part == "gap" else ((element + 1) * form.bits - 1,) * 2
        place = int(random.integers(low, max(high, low + 1)))
        raw[place // 8] ^= 1 << place % 8
    return raw.tobytes()


class Comparison:
    def __init__(self, arguments):
        self.driver = Driver(arguments.driver, arguments.device)
        self.options = self.driver.options()
        self.arguments = arguments
        self.runs, self.shares = collections.Counter(), collections.defaultdict(float)
        self.types = collections.Counter()
        self.wrong, self.elements, self.refused, self.spoilt, self.noticed = 0, 0, 0, 0, 0
        self.separate, self.apart, self.left_out = 0, 0, 0

    def problem(self, index):
        random = np.random.default_rng([self.arguments.seed, index])
        p, device = families.draw(random, self.arguments.products)
        if self.arguments.device:
            device = 0
        text = p.text()
        status, answer = self.driver.ask(f"algorithms {device} {text}")
        if status != "ok":
            return self.report(index, f"{text}: {status}: {answer.decode()}")
        accepted = []
        for line in answer.decode().splitlines():
            name, options = line.split(" ", 1)
            if options.startswith("!"):
                self.report(index, f"{text}: {name} supports it, but has no plan: {options[1:]}")
            else:
                accepted.append(name)
        if len(accepted) > 1 and random.random() < 0.6:
            accepted = [name for name in accepted if name != "direct"]
        accepted = list(random.permutation(accepted))[:MOST_RUNS]
        if not accepted:
            self.refused += 1
            return None
        tensors = Tensors(p, random)
        sums, magnitudes = reference.convolve(p, tensors.x, tensors.w)
        for name in accepted:
            self.run(index, p, device, name, tensors, sums, magnitudes, random)
        return None

    def run(self, index, p, device, name, tensors, sums, magnitudes, random):
        if p.amax:  # nothing yet, or an earlier maximum around the one to be found
            exact = reference.Numbers(sums, np.zeros_like(sums))
            largest = np.abs(reference.epilogue(p, exact, tensors.values)[0].value).max()
            before = np.float32(random.choice([0, largest / 2, largest * 2]))
            tensors.bytes["amax"] = np.array([before]).view(np.uint8)
        multiprocessors = int(random.integers(1, 4)) if random.random() < 0.4 else 0  # few of them have several tiles each
        plans = [(multiprocessors, "-"), (0, "-")]
        if random.random() < 0.5 and self.options[name]:
            chosen = random.choice(list(self.options[name]), min(len(self.options[name]), int(random.integers(1, 3))), replace=False)
            plans.insert(0, (multiprocessors, ",".join(f"{one}={random.choice(self.options[name][one])}" for one in chosen)))
        schedule, hazards = random.choice(SCHEDULES), "error" if random.random() < 0.15 else "off"
        for multiprocessors, options in plans:  # the planner's, where the drawn ones have no plan
            line = f"run {device} {multiprocessors} {schedule} {int(random.integers(1, 2**31))} {hazards} {name} {options} {p.text()}"
            status, ways, answer = self.driver.run(line, tensors.all())
            if status != "unplanned" and not is_left_out(answer):
                break
        if is_left_out(answer):
            self.left_out += 1
            return None
        if status != "ok":
            return self.report(index, f"{line}: {status}: {answer.decode()}")
        self.runs[f"{name} on {self.arguments.device or DEVICES[device]}"] += 1
        self.types[f"{p.input_type} * {p.filter_type}"] += 1
        self.types[f"-> {p.output_type}"] += 1
        judge = Judge(p, tensors, sums, magnitudes, ways)
        self.elements += judge.scaled.value.size
        difference = judge.difference(answer)
        self.shares[name] = max(self.shares[name], judge.share)
        if difference:
            return self.report(index, f"{line}: {difference}")
        if p.separate:
            planned = f"{device} {multiprocessors} earliest 1 off {name}"
            if difference := self.steps(p, planned, options, tensors, answer):
                return self.report(index, f"{line}: {difference}")
        if self.spoilt < SELF_CHECKS and (changed := spoilt(judge, answer, random)):
            self.spoilt += 1  # the judge has to be able to fail
            self.noticed += bool(judge.difference(changed))
        return None

    def steps(self, p, planned, options, tensors, answer):
        """Runs the plain convolution with the same options, and rounds behind each step here: the same outputs, bit for bit. amax, which
        changes no output, makes it the kernel of the whole epilogue: that of the short one may sum in another order."""
        options = self.driver.ask(f"options {planned} {options} {p.text()}")[1].decode() or "-"
        plain = dataclasses.replace(p, channel_scale=False, bias_type="", beta=0.0, residual_type="f16", residual_pitch=0, residual_last=False, activation="none",
                                    parameters=(), amax=True, out_scale=1.0, separate=False)
        none = np.zeros(0, np.uint8)
        operands = {**tensors.bytes, "bias": none, "residual": none, "channel_scale": none, "amax": np.zeros(4, np.uint8)}
        inner, plain_inner = (self.driver.ask(f"inner {planned} {options} {one.text()}") for one in (p, plain))
        status, _, convolved = self.driver.run(f"run {planned} {options} {plain.text()}", [operands[one] for one in Tensors.ORDER])
        # Options that are for the whole epilogue, or another plan between copies, which may sum in another order.
        if status == "unplanned" or inner != plain_inner or is_left_out(convolved):
            self.apart += 1
            return ""
        if status != "ok":
            return f"the plain convolution: {status}: {convolved.decode()}"
        self.separate += 1
        form, size, pitch = FORMATS[p.output_type], tensors.bytes["output"].size, p.output_pitch or p.k

        def outputs(written):
            codes = unpack(np.frombuffer(written, np.uint8)[:size], form.bits, size * 8 // form.bits)
            return by_pixel(p, form.decode(codes[np.arange(codes.size) % pitch < p.k])).reshape(p.n, *p.outputs(), p.k)

        low, high = reference.separate_steps(p, outputs(convolved), tensors.values)
        found = outputs(answer)
        right = (low <= found) & (found <= high) | np.isnan(low) & np.isnan(found)
        if right.all():
            return ""
        at = np.unravel_index(np.argmin(right), right.shape)
        return f"{np.count_nonzero(~right)} outputs are not those of separate steps, the first at {at}: {found[at]}, not {low[at]} to {high[at]}"

    def seldom(self):
        """The algorithms that have not had the runs that each must have."""
        runs = collections.Counter()
        for name, count in self.runs.items():
            runs[name.split()[0]] += count
        return [name for name in self.options if runs[name] < self.arguments.least and not (self.arguments.device and runs[name] == 0)]

    def report(self, index, text):
        self.wrong += 1
        a = self.arguments
        products = f" --products {a.products}" if a.products != families.MOST_PRODUCTS else ""
        print(f"problem {index} (--seed {a.seed} --only {index}{products}): {text}", flush=True)

    def conclude(self):
        lists = lambda counts: ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        print(f"runs: {lists(self.runs)}\ntypes: {lists(self.types)}")
        print(f"{self.elements} elements, {self.refused} problems that every algorithm refuses, {self.left_out} kernels that a build for tests "
              f"leaves out, {self.wrong} differences")
        print("largest share of the bound, f32 outputs: " + ", ".join(f"{n} {s:.3f}" for n, s in sorted(self.shares.items())))
        print(f"{self.separate} runs equal separate operations behind the plain convolution bit for bit, {self.apart} have no such plan")
        if self.spoilt:
            print(f"{self.noticed} of {self.spoilt} spoilt outputs were noticed")
        if self.arguments.only is not None:
            return self.wrong
        seldom = self.seldom()
        if seldom:
            print(f"fewer than {self.arguments.least} runs: {', '.join(seldom)}")
        return self.wrong + len(seldom) + self.spoilt - self.noticed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("--device", default="", help="a GPU, such as cuda:0, instead of the emulated devices")
    parser.add_argument("--products", type=int, default=families.MOST_PRODUCTS)
    parser.add_argument("--problems", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no further problem is drawn")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", type=int, default=None, help="run this problem alone")
    parser.add_argument("--least", type=int, default=3, help="runs that every algorithm must have")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = secrets.randbits(32)
    print(f"seed {arguments.seed}", flush=True)
    end = time.monotonic() + arguments.seconds
    comparison = Comparison(arguments)
    if arguments.only is not None:
        comparison.problem(arguments.only)
    else:
        for index in range(MOST_DRAWN * arguments.problems):
            if (index >= arguments.problems and not comparison.seldom()) or time.monotonic() > end:
                break
            comparison.problem(index)
    sys.exit(1 if comparison.conclude() else 0)


if __name__ == "__main__":
    main()
