"""The Python package shiftconv over the built library."""

import ast
import copy
import ctypes
import os
import pathlib
import pickle
import re
import struct
import subprocess
import sys
import unittest

import shiftconv
from shiftconv._structures import (
    PROBLEM_INIT,
    AutotuneC,
    DevicePropertiesC,
    EstimateC,
    PlanOptionsC,
    ProblemC,
    TensorBytesC,
    TensorsC,
)

TEXT = "2x9x7x16 f16 * 24x3x2x16 pad 1,0,2,1 stride 2,1 -> 2x4x9x24 f16 bias relu"


class Structures(unittest.TestCase):
    def test_sizes_are_those_of_the_header(self):
        header = "".join(path.read_text() for path in sorted(pathlib.Path(os.environ["SHIFTCONV_HEADERS"]).glob("*.h")))
        sizes = {name: int(size) for name, size in re.findall(r"#define SHIFTCONV_(\w+)_SIZE_0_2 (\d+)", header)}
        structures = {
            "DEVICE_PROPERTIES": DevicePropertiesC,
            "PROBLEM": ProblemC,
            "TENSOR_BYTES": TensorBytesC,
            "PLAN_OPTIONS": PlanOptionsC,
            "AUTOTUNE": AutotuneC,
            "ESTIMATE": EstimateC,
            "TENSORS": TensorsC,
        }
        # transposed, rounding, output_padding, upsample, layouts, split, filter_flipped; second_input, packed_filter; multiprocessors, batch_invariant, constant_filter, no_workspace
        grown = {"PROBLEM": 4 + 4 + 6 * 8 + 2 * 4 + 3 * 8 + 2 * 4, "TENSOR_BYTES": 8, "TENSORS": 8 + 8, "PLAN_OPTIONS": 4 + 4 + 4 + 4}
        for name, structure in structures.items():
            self.assertEqual(ctypes.sizeof(structure), sizes[name] + grown.get(name, 0), name)

    def test_a_problem_starts_as_the_header_says(self):
        # Every field that differs from its initial value is written by describe(), so that the shortest text has none of them.
        problem = shiftconv.Problem(n=1, h=1, w=1, c=1, k=1, r=1, s=1)
        parsed = shiftconv.Problem.parse("1x1x1x1 f16 * 1x1x1x1 -> f16")
        self.assertEqual(problem, parsed)
        self.assertEqual(PROBLEM_INIT["bias_type"], shiftconv.Type.F32)


class Sources(unittest.TestCase):
    OLDEST = (3, 9)  # pyproject.toml's requires-python

    def test_the_oldest_python_reads_them(self):
        project = pathlib.Path(shiftconv.__file__).parents[3] / "pyproject.toml"
        self.assertIn('requires-python = ">={}.{}"'.format(*self.OLDEST), project.read_text())
        sources = sorted(pathlib.Path(shiftconv.__file__).parent.rglob("*.py"))
        self.assertGreater(len(sources), 15)
        for source in sources:
            for node in ast.walk(ast.parse(source.read_text(), feature_version=self.OLDEST)):
                # a[b, *c] needs Python 3.11, which ast.parse does not know; a[(b, *c)] does not, and the tuple starts at its parenthesis.
                if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
                    starred = any(isinstance(one, ast.Starred) for one in node.slice.elts)
                    bare = node.slice.col_offset == node.slice.elts[0].col_offset if node.slice.elts else False
                    self.assertFalse(starred and bare, f"{source}:{node.lineno}")


class Problems(unittest.TestCase):
    def test_text_and_fields(self):
        problem = shiftconv.Problem.parse(TEXT)
        fields = shiftconv.Problem(
            n=2, h=9, w=7, c=16, k=24, r=3, s=2, pad_top=1, pad_left=2, pad_right=1, stride_h=2, has_bias=True,
            activation=shiftconv.Activation.RELU,
        )  # fmt: skip
        self.assertEqual(problem, fields)
        self.assertEqual(hash(problem), hash(fields))
        self.assertEqual(problem.describe(), TEXT)
        self.assertEqual(eval(repr(problem), {"Problem": shiftconv.Problem}), problem)
        self.assertIs(problem.activation, shiftconv.Activation.RELU)
        self.assertIs(problem.has_bias, True)
        self.assertNotEqual(problem.copy(n=3), problem)
        self.assertEqual(problem.copy(n=3).n, 3)

    def test_flipped(self):
        text = "1x9x7x16 f16 * 24x3x2x16 pad 0,0,0,0 flipped -> 1x7x6x24 f16"
        problem = shiftconv.Problem.parse(text)
        self.assertIs(problem.filter_flipped, True)
        self.assertEqual(problem, shiftconv.Problem(n=1, h=9, w=7, c=16, k=24, r=3, s=2, filter_flipped=True))
        self.assertEqual(problem.describe(), text)

    def test_plans_that_do_not_depend_on_the_batch(self):
        device = shiftconv.preset("B200")
        problem = shiftconv.Problem.parse("1x1x1x2048 f16 * 1000x1x1x2048 -> f16")
        plans = [shiftconv.Plan(problem.copy(n=n), device, batch_invariant=True) for n in (1, 256)]
        self.assertEqual(*(plan.algorithm for plan in plans))
        free = shiftconv.Plan(problem.copy(n=256), device)
        self.assertNotEqual((free.algorithm, free.options), (plans[1].algorithm, plans[1].options))

    def test_constant_filters_are_read_ahead(self):
        device = shiftconv.preset("H200")
        problem = shiftconv.Problem.parse("1x14x14x256 f16 * 256x3x3x256 pad 1,1,1,1 -> f16")
        usual, ahead = (shiftconv.Plan(problem, device, algorithm="halo", constant_filter=constant) for constant in (False, True))
        self.assertEqual(ahead.options, usual.options + ",dependent=filter")
        self.assertEqual(shiftconv.Plan.from_bytes(ahead.to_bytes()).options, ahead.options)

    def test_transposed(self):
        text = "2x9x7x16 f16 * 24x3x2x16 pad 1,0,0,1 stride 2,1 transposed output_padding 1,0 -> 2x19x7x24 f16"
        problem = shiftconv.Problem.parse(text)
        self.assertIs(problem.transposed, True)
        self.assertEqual((problem.output_padding_d, problem.output_padding_h, problem.output_padding_w), (0, 1, 0))
        fields = shiftconv.Problem(
            n=2, h=9, w=7, c=16, k=24, r=3, s=2, pad_top=1, pad_right=1, stride_h=2, transposed=True, output_padding_h=1
        )
        self.assertEqual(problem, fields)
        self.assertEqual(problem.describe(), text)
        self.assertEqual(shiftconv.Plan(problem, shiftconv.DeviceProperties.preset("H200")).algorithm, "gathered")

    def test_upsampled(self):
        text = "2x9x7x16 f16 upsample 2,3 * 24x3x2x16 pad 1,0,0,1 -> 2x17x21x24 f16"
        problem = shiftconv.Problem.parse(text)
        self.assertEqual((problem.upsample_d, problem.upsample_h, problem.upsample_w), (1, 2, 3))
        self.assertEqual(problem, shiftconv.Problem(n=2, h=9, w=7, c=16, k=24, r=3, s=2, pad_top=1, pad_right=1, upsample_h=2, upsample_w=3))
        self.assertEqual(problem.describe(), text)
        self.assertEqual(shiftconv.Plan(problem, shiftconv.DeviceProperties.preset("H200")).algorithm, "repeated")

    def test_split(self):
        text = "2x9x7x16 f16 split_c 8 second_pitch 24 * 24x3x2x16 pad 1,0,0,1 -> 2x8x7x24 f16"
        problem = shiftconv.Problem.parse(text)
        self.assertEqual((problem.split_c, problem.split_d, problem.second_pixel_pitch), (8, 0, 24))
        self.assertEqual(
            problem, shiftconv.Problem(n=2, h=9, w=7, c=16, k=24, r=3, s=2, pad_top=1, pad_right=1, split_c=8, second_pixel_pitch=24)
        )
        self.assertEqual(problem.describe(), text)
        self.assertEqual((problem.tensor_bytes.input, problem.tensor_bytes.second_input), (126 * 8 * 2, (125 * 24 + 8) * 2))

    def test_rounding(self):
        problem = shiftconv.Problem.parse("1x9x7x16 f16 * 24x3x3x16 pad 0,0,0,0 -> 1x7x5x24 f16 bias relu rounding separate")
        self.assertIs(problem.rounding, shiftconv.Rounding.SEPARATE)
        self.assertIs(problem.copy(rounding=shiftconv.Rounding.ONCE).rounding, shiftconv.Rounding.ONCE)

    def test_output_and_bytes(self):
        problem = shiftconv.Problem.parse(TEXT)
        self.assertEqual(problem.output_size, (1, 4, 9))
        self.assertEqual(problem.output_shape, (2, 1, 4, 9, 24))
        expected = dict.fromkeys(shiftconv.TensorBytes._fields, 0)
        expected.update(input=2 * 9 * 7 * 16 * 2, filter=24 * 3 * 2 * 16 * 2, bias=24 * 4, output=2 * 4 * 9 * 24 * 2)
        self.assertEqual(problem.tensor_bytes._asdict(), expected)

    def test_block_scales(self):
        problem = shiftconv.Problem.parse("1x4x4x64 e4m3 scale ue8m0/32 * 8x1x1x64 scale ue8m0/32 -> f16")
        self.assertEqual(problem.input_block_scale, shiftconv.BlockScale(32, shiftconv.Type.UE8M0))
        self.assertEqual(problem.copy(filter_block_scale=shiftconv.BlockScale()).filter_block_scale.block_size, 0)

    def test_refusals_name_the_field(self):
        problem = shiftconv.Problem.parse(TEXT)
        with self.assertRaisesRegex(shiftconv.InvalidArgument, "^groups must divide c, but groups is 3 and c is 16$"):
            problem.copy(groups=3).validate()
        with self.assertRaisesRegex(ValueError, "^n must be in 1..2147483647, but is -1$"):
            problem.copy(n=-1).describe()
        with self.assertRaisesRegex(shiftconv.Error, "activation must be in NONE"):
            problem.copy(activation=77).validate()
        with self.assertRaisesRegex(AttributeError, "no field 'padding'"):
            shiftconv.Problem(padding=1)
        with self.assertRaisesRegex(TypeError, "^n must be an integer, but is 'one'$"):
            shiftconv.Problem(n="one")
        with self.assertRaisesRegex(TypeError, "^n must be an integer, but is 1.5$"):
            shiftconv.Problem(n=1.5)
        with self.assertRaisesRegex(OverflowError, "^n must fit into 64 bits"):
            shiftconv.Problem(n=1 << 63)
        with self.assertRaisesRegex(shiftconv.InvalidArgument, "f17"):
            shiftconv.Problem.parse(TEXT.replace("f16 *", "f17 *"))
        self.assertRegex(repr(problem.copy(n=-1)), r"^Problem\(n=-1, h=9")


class Plans(unittest.TestCase):
    def test_plan_for_a_device_that_is_not_here(self):
        problem = shiftconv.Problem.parse("32x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 bias relu")
        plan = shiftconv.Plan(problem, shiftconv.preset("h200"))
        self.assertIn(plan.algorithm, shiftconv.algorithms())
        self.assertEqual(shiftconv.support(problem, shiftconv.preset("H200"), plan.algorithm), "")
        again = shiftconv.Plan(problem, shiftconv.preset("H200"), plan.algorithm, plan.options)
        self.assertEqual((again.options, again.kernel_name), (plan.options, plan.kernel_name))
        self.assertIn(problem.describe(), plan.describe())
        self.assertIn(plan.algorithm, plan.candidates())
        self.assertEqual(plan.workspace_bytes, 0)
        estimate = plan.estimate
        self.assertEqual(estimate.flops, 2 * 32 * 56 * 56 * 64 * 64 * 9)
        self.assertTrue(0 < estimate.seconds < 1)
        self.assertTrue(shiftconv.algorithm_options(plan.algorithm))

    def test_bytes_and_pickle(self):
        problem = shiftconv.Problem.parse(TEXT)
        self.assertEqual(pickle.loads(pickle.dumps(problem)), problem)
        self.assertEqual(copy.deepcopy(problem), problem)
        plan = shiftconv.Plan(problem, shiftconv.preset("H200"))
        for again in (shiftconv.Plan.from_bytes(plan.to_bytes()), pickle.loads(pickle.dumps(plan))):
            self.assertEqual((again.describe(), again.to_bytes()), (plan.describe(), plan.to_bytes()))
        damaged = bytearray(plan.to_bytes())
        damaged[len(damaged) // 2] ^= 1
        for wrong in (bytes(damaged), plan.to_bytes()[:-1], b""):
            with self.assertRaises(shiftconv.InvalidArgument):
                shiftconv.Plan.from_bytes(wrong)

    def test_refusals(self):
        problem = shiftconv.Problem.parse(TEXT)
        self.assertIn("compute capability 9.0", shiftconv.support(problem, shiftconv.preset("B200"), "halo"))
        with self.assertRaisesRegex(shiftconv.Unsupported, "compute capability 9.0"):
            shiftconv.Plan(problem, shiftconv.preset("B200"), "halo")
        with self.assertRaisesRegex(shiftconv.NotFound, "nonesuch"):
            shiftconv.Plan(problem, shiftconv.preset("B200"), "nonesuch")
        with self.assertRaisesRegex(LookupError, "B300"):
            shiftconv.preset("A100")
        with self.assertRaises(shiftconv.InvalidArgument):
            shiftconv.support(problem.copy(c=0), shiftconv.preset("B200"), "direct")


class Devices(unittest.TestCase):
    def test_enumeration_ends_with_the_emulated_devices(self):
        emulated = [d for d in shiftconv.devices() if d.kind == shiftconv.DeviceKind.EMULATED]
        self.assertEqual([d.compute_capability for d in emulated], [(10, 0), (9, 0)])
        self.assertEqual(shiftconv.devices()[-2:][0].name, emulated[0].name)

    def test_a_run_on_the_emulated_device(self):
        # A filter of one tap that doubles channel 1 and drops channel 0; every element is compared.
        problem = shiftconv.Problem.parse("2x3x5x2 f16 * 3x1x1x2 -> f16 bias")
        x = [float(i % 11 - 5) for i in range(2 * 3 * 5 * 2)]
        w, b = [0, 2, 1, 0, 1, 1], [0.5, 0, -3]
        expected = []
        for pixel in range(30):
            c0, c1 = x[2 * pixel : 2 * pixel + 2]
            expected += [2 * c1 + 0.5, c0, c0 + c1 - 3]
        for architecture in ("sm_90a", "sm_100a"):
            with shiftconv.Device(f"emulated:{architecture}") as device:
                plan = shiftconv.Plan(problem, device)
                tensors = {
                    "input": device.upload(struct.pack("<60e", *x)),
                    "filter": device.upload(struct.pack("<6e", *w)),
                    "bias": device.upload(struct.pack("<3f", *b)),
                    "output": shiftconv.Memory(device, problem.tensor_bytes.output),
                }
                tensors["output"].fill(0xAB)
                plan.run(device, **tensors)
                self.assertEqual(list(struct.unpack("<90e", tensors["output"].download())), expected)
                self.assertIn("launches", device.counters(as_json=True))
                with self.assertRaisesRegex(shiftconv.InvalidArgument, "bias must not be NULL"):
                    plan.run(device, **{**tensors, "bias": 0})
                with self.assertRaisesRegex(TypeError, "no tensor 'weights'"):
                    plan.run(device, weights=1)
                tensors.clear()

    def test_autotune(self):
        problem = shiftconv.Problem.parse("1x3x5x8 f16 * 8x1x1x8 -> f16")
        with shiftconv.Device("emulated:sm_90a") as device:
            plan = shiftconv.Plan.autotuned(problem, device, seconds=0.2, cache="", candidates=2)
            self.assertIn(plan.algorithm, shiftconv.algorithms())

    def test_refusals(self):
        with self.assertRaisesRegex(shiftconv.InvalidArgument, "toaster"):
            shiftconv.Device("toaster")
        device = shiftconv.Device("emulated")
        device.set_option("hazards", "warn")
        with self.assertRaises(shiftconv.NotFound):
            device.set_option("hazard", "warn")
        device.close()
        device.close()
        with self.assertRaises(shiftconv.InvalidArgument):
            device.properties
        with self.assertRaisesRegex(ValueError, "architecture"):
            shiftconv.emulate("sm_80")

    def test_emulate_names_the_device_that_is_opened(self):
        program = "import shiftconv; shiftconv.emulate('sm_90a'); print(shiftconv.Device().properties.name)"
        environment = {name: value for name, value in os.environ.items() if name != "SHIFTCONV_DEVICE"}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "emulated sm_90a\n")


class Loading(unittest.TestCase):
    def test_a_missing_library_is_named(self):
        environment = {**os.environ, "SHIFTCONV_LIBRARY": "/nonexistent/libshiftconv.so"}
        program = "import shiftconv\ntry: shiftconv.algorithms()\nexcept OSError as e: print(e)"
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
        self.assertRegex(done.stdout, "^/nonexistent/libshiftconv.so cannot be loaded .*SHIFTCONV_LIBRARY may name it")

    def test_versions_agree(self):
        self.assertEqual(shiftconv.library_version(), shiftconv.__version__)

    def test_glue_is_looked_for_beside_the_library(self):
        folder = os.path.dirname(os.path.realpath(os.environ["SHIFTCONV_LIBRARY"]))
        self.assertEqual(shiftconv.glue_path("torch"), f"{folder}/libshiftconv_torch.so")


if __name__ == "__main__":
    unittest.main()
