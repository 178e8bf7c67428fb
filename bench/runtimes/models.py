"""The networks that are measured: torchvision's, two decoders and a detector, with random weights and the batch statistics of random images."""

import torch
import torchvision
import vae
import yolo
from torch import nn

IMAGE = (3, 224, 224)


def _classifier(name, **options):
    return lambda: getattr(torchvision.models, name)(weights=None, **options), IMAGE


NETWORKS = {
    "resnet50": _classifier("resnet50"),
    "mobilenet_v2": _classifier("mobilenet_v2"),
    "mobilenet_v3_large": _classifier("mobilenet_v3_large"),
    "efficientnet_b0": _classifier("efficientnet_b0"),
    "convnext_tiny": _classifier("convnext_tiny"),
    "vgg16": _classifier("vgg16", init_weights=False),
    "googlenet": _classifier("googlenet", aux_logits=False, init_weights=False),
    "deeplabv3_resnet50": (
        lambda: torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=21),
        (3, 512, 512),
    ),
    "r3d_18": (lambda: torchvision.models.video.r3d_18(weights=None), (3, 16, 112, 112)),
    "sd_vae_decoder": (vae.ImageDecoder, (4, 64, 64)),
    "video_vae_block": (vae.VideoDecoder, (16, 4, 32, 32)),
    "yolov8_s": (yolo.Detector, (3, 640, 640)),
}


def network(name, device, statistics=True):
    """A network in float32, in evaluation, the same in every process; without statistics of its images it only has the right shapes."""
    torch.manual_seed(sum(map(ord, name)))
    make, shape = NETWORKS[name]
    model = make().to(device)
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    for parameter_name, parameter in model.named_parameters():
        if parameter_name.endswith("layer_scale"):  # initially 1e-6, which hides the blocks from the result
            nn.init.constant_(parameter, 0.1)
    for norm in norms:
        norm.momentum = None  # the plain average
        nn.init.uniform_(norm.weight, 0.5, 1.5)
        nn.init.uniform_(norm.bias, -0.2, 0.2)
    if norms and statistics:
        model.train()
        with torch.no_grad(), torch.backends.cudnn.flags(benchmark=False, allow_tf32=False):
            model(torch.randn(4, *shape, device=device))
    return model.eval()


def images(name, batch, dtype, device):
    """The input, in channels_last."""
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(batch, *NETWORKS[name][1], generator=generator).to(device=device, dtype=dtype)
    return x.contiguous(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)


def result(y):
    """The tensor of what a network returns."""
    return y["out"] if isinstance(y, dict) else y
