// The denoiser: its layers, and its weights as train.py writes them.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace denoise {

/// To the sum of a layer, before the activation.
enum class Added { Nothing, FirstLayer, Image };

struct LayerShape {
  const char* name;
  int inputs, outputs, filter, stride, groups, upsample;
  Added added;
  bool relu;
};

/// As LAYERS of train.py. Paddings are half of the filter on all sides.
inline constexpr std::array<LayerShape, 10> kLayers = {{
    {"5x5", 3, 32, 5, 1, 1, 1, Added::Nothing, true},
    {"3x3, stride 2", 32, 64, 3, 2, 1, 1, Added::Nothing, true},
    {"5x5, depthwise", 64, 64, 5, 1, 64, 1, Added::Nothing, true},
    {"1x1", 64, 64, 1, 1, 1, 1, Added::Nothing, true},
    {"3x3", 64, 64, 3, 1, 1, 1, Added::Nothing, true},
    {"3x3", 64, 64, 3, 1, 1, 1, Added::Nothing, true},
    {"3x3", 64, 64, 3, 1, 1, 1, Added::Nothing, true},
    {"3x3, upsampled, plus 1", 64, 32, 3, 1, 1, 2, Added::FirstLayer, true},
    {"3x3", 32, 32, 3, 1, 1, 1, Added::Nothing, true},
    {"3x3, plus the image", 32, 3, 3, 1, 1, 1, Added::Image, false},
}};
inline constexpr size_t kLayerCount = kLayers.size();

struct Weights {
  std::vector<float> filter;  ///< [outputs][filter][filter][inputs / groups], numbers of f16
  std::vector<float> bias;
  float largest = 0;  ///< output over the test images of the training
};
using Network = std::array<Weights, kLayerCount>;

/// Throws std::invalid_argument with a sentence when the file cannot be read or has another size.
Network readNetwork(const std::string& path);

/// An image or what a layer makes of it: [height][width][channels].
struct Maps {
  int height = 0, width = 0, channels = 0;
  std::vector<float> values;
};

/// What the network makes of a noisy image of even height and width, in f32.
Maps denoisedInF32(const Network& network, const Maps& noisy);

}  // namespace denoise
