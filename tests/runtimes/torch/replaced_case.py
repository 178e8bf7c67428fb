"""What tests of shiftconv.torch.replace share: a model that is replaced, and judged."""

import copy
import unittest

import shiftconv.torch as sct
import torch
from blocks import with_statistics


class ReplacedCase(unittest.TestCase):
    def replaced(self, model, x, dtype=torch.float16):
        """The replaced model; its result is as close to float32 as PyTorch's own in this dtype, twice over for the order of sums."""
        model = with_statistics(model)
        before = {name: value.clone() for name, value in model.state_dict().items()}
        made = sct.replace(model, x.to(dtype))
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
        with torch.no_grad():
            expected = model(x)
            theirs = copy.deepcopy(model).to(dtype)(x.to(dtype)).float()  # not folded, so that folding is judged, too
            ours = made(x.to(dtype)).float()
        self.assertEqual(ours.shape, expected.shape)
        bound = 2 * (theirs - expected).abs().max() + 2.0**-11 * expected.abs().max()
        self.assertLessEqual((ours - expected).abs().max(), bound)
        return made

    def fused(self, made):
        return {layer.name: layer.fused for layer in made.shiftconv_census}

    def kinds(self, made):
        return [type(made.get_submodule(node.target)).__name__ for node in made.graph.nodes if node.op == "call_module"]
