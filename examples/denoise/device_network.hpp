// The network on a device: its layers planned in one precision, their tensors, and runs of all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <shiftconv/shiftconv.hpp>
#include <string>
#include <vector>

#include "common/numerics/block_format.hpp"
#include "examples/denoise/network.hpp"

namespace denoise {

/// How layers multiply where their form allows it.
struct Precision {
  std::string name;
  std::optional<shiftconv::numerics::BlockFormat> block;  ///< none: f16 throughout
};
inline const std::vector<Precision> kPrecisions = {{"f16", std::nullopt},
                                                   {"mxfp8", shiftconv::numerics::blockFormatNamed("mxfp8_e4m3")},
                                                   {"nvfp4", shiftconv::numerics::blockFormatNamed("nvfp4")}};

struct LayerReport {
  std::string form;       ///< "f16 -> mxfp8": what it reads and writes
  std::string algorithm;  ///< that the planner took
  std::string staysF16;   ///< why it multiplies f16; empty where it does not
};

class DeviceNetwork {
 public:
  /// Plans and uploads. Throws shiftconv::Error when the device refuses a layer in f16, too.
  DeviceNetwork(shiftconv::Device& device, const Network& network, const Precision& precision, int height, int width);

  /// The noisy image in 3 channels, of the height and width that the network was made for.
  Maps run(const Maps& noisy);
  /// Average of so many runs on the image of the last one, enqueued one behind the other, without copies. In seconds.
  double timeOfARun(uint32_t runs);

  const std::vector<LayerReport>& layers() const { return reports_; }
  /// How many layers multiply in the precision's own format.
  int inFormat() const { return inFormat_; }

 private:
  struct Layer {
    shiftconv::Convolution problem;
    std::vector<shiftconv::Memory> own;  ///< filter, its factors, bias, workspace
    shiftconv::Tensors tensors;
  };

  shiftconv::Convolution problemOf(size_t layer, bool scaledInput, bool scaledOutput) const;
  bool isTaken(const shiftconv::Convolution& problem) const;
  void decideForms();
  Layer makeLayer(size_t i);
  shiftconv::Memory upload(const void* bytes, size_t size);
  /// The factor of a whole tensor that nvfp4 has beside those of its blocks; 1 otherwise.
  float tensorScale(float largest) const;
  float tensorScaleBehind(size_t layer) const { return scaledTensors_[layer] ? tensorScale(network_[layer].largest) : 1.0f; }
  void quantizeFilter(size_t i, std::vector<std::byte>& elements, std::vector<uint8_t>& factors) const;

  shiftconv::Device& device_;
  const shiftconv::DeviceProperties properties_;
  const Network& network_;
  const Precision precision_;
  const int height_, width_;
  std::vector<bool> scaledTensors_;  ///< by layer: whether its output has block scales
  shiftconv::Memory image_;          ///< noisy, f16, kImageChannels
  std::vector<shiftconv::Memory> outputs_, outputScales_;
  std::vector<Layer> layers_;
  std::vector<shiftconv::Plan> plans_;
  std::vector<shiftconv::Binding> bindings_;
  std::vector<LayerReport> reports_;
  int inFormat_ = 0;
};

}  // namespace denoise
