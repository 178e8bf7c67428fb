"""bench/denoise computes what the program `denoise` computes: the same picture, noise, plans and results."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/denoise"))

try:
    import network
except ImportError as error:  # numpy
    print(f"skipped: {error}")
    sys.exit(77)
import shiftconv

WIDTH, HEIGHT, X, Y, SIGMA, SEED = 24, 16, 60, 40, 20, 7


class Figures(unittest.TestCase):
    def testTheProgramsOwn(self):
        clean = network.picture(ROOT / "examples/feature_maps/astronaut.png")[Y:Y + HEIGHT, X:X + WIDTH]
        noisy = network.withNoise(clean, SIGMA, SEED)
        for device in ("emulated", "emulated:sm_90a"):
            with self.subTest(device=device), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, "figures.json")
                said = subprocess.run([os.environ["DENOISE_PROGRAM"], "--device", device, "--crop", f"{WIDTH}x{HEIGHT}+{X}+{Y}", "--sigma", str(SIGMA), "--seed",
                                       str(SEED), "--precision", "f16", "--no-sheet", "--time", "1", "--json", file], check=True, capture_output=True, text=True).stdout
                figures = json.loads(file.read_text())
                made = network.DeviceNetwork(shiftconv.Device(device), noisy)
                made.run()
                # Cosines and logarithms of the noise may differ in their last bits.
                self.assertAlmostEqual(figures["noisy"]["psnr"], network.psnr(noisy, clean), places=6)
                self.assertAlmostEqual(figures["f16"]["psnr"], network.psnr(made.result(), clean), places=4)
                self.assertGreater(figures["f16"]["psnr"], figures["noisy"]["psnr"] + 2)
                self.assertGreater(figures["f16"]["us"], 0)
                self.assertEqual((figures["width"], figures["height"], figures["runs"]), (WIDTH, HEIGHT, 1))
                algorithms = [line.split("f16 -> ")[1].split()[1] for line in said.splitlines() if "f16 -> " in line]
                self.assertEqual(algorithms, [plan.algorithm for plan, _ in made.runs])


if __name__ == "__main__":
    unittest.main()
