"""ResNet-50 with its convolutions in ShiftConv. Needs a Hopper or Blackwell GPU, PyTorch 2.11 and torchvision.

    pip install shiftconv[torch] torchvision && python torch_resnet.py
"""

import torch
import torchvision

import shiftconv.torch

model = torchvision.models.resnet50(weights=None).cuda().eval()
x = torch.randn(1, 3, 224, 224, device="cuda", dtype=torch.float16).to(memory_format=torch.channels_last)
fast = shiftconv.torch.replace(model, x)
print(fast.shiftconv_census)
with torch.inference_mode():
    print("largest difference from float32:", (fast(x).float() - model(x.float())).abs().max().item())
