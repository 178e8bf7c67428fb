"""ResNet-50 with its convolutions in ShiftConv. Needs PyTorch 2.11, torchvision and a Hopper or Blackwell GPU; without one, small images run on
the emulated device. Weights are random: load yours into the float32 model first.

    pip install shiftconv[torch] torchvision && python torch_resnet.py
"""

import torch
import torchvision

import shiftconv.torch

device, size = ("cuda", 224) if torch.cuda.is_available() else ("cpu", 32)
if device == "cpu":
    shiftconv.emulate("sm_90a")
model = torchvision.models.resnet50(weights=None).to(device).eval()
x = torch.randn(1, 3, size, size, device=device, dtype=torch.float16).to(memory_format=torch.channels_last)
fast = shiftconv.torch.replace(model, x)
print(fast.shiftconv_census)
with torch.inference_mode():
    expected = model(x.float())
    print("largest difference from float32:", (fast(x).float() - expected).abs().max().item(), "of", expected.abs().max().item())
