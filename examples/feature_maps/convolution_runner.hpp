// Convolutions through the public API of ShiftConv, one after another on one device.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <shiftconv/shiftconv.hpp>

#include "examples/feature_maps/options.hpp"

namespace feature_maps {

/// A convolution with its weights.
struct Layer {
  std::string name;
  shiftconv::Convolution problem;
  std::vector<uint16_t> filter;  ///< f16 KRSC
  std::vector<float> bias;       ///< empty when the problem has none

  /// Multiply-add operations of all taps, padded ones included.
  double multiplyAdds() const;
};

/// Stride 1, and padding that keeps height and width.
shiftconv::Convolution samePadding(int height, int width, int channels, int filters, int size);

struct LayerReport {
  std::string name, algorithm;
  std::string plan;  ///< several lines: problem, kernel, tile, memory, modelled time
  double seconds = 0;
  double gigaflops = 0;  ///< of useful work, per second
};

/// What an emulated device counted, in a few numbers.
struct CounterSummary {
  uint64_t mmas = 0, shiftingMmas = 0, warpInstructions = 0;
  std::map<std::string, uint64_t> bytesByEngine;
  std::map<std::string, uint64_t> unproven;  ///< id -> uses
};

class ConvolutionRunner {
 public:
  /// Throws std::invalid_argument when --semantics names a question or an alternative that does not exist.
  explicit ConvolutionRunner(const Options& options);

  const shiftconv::Device& device() const { return device_; }
  const shiftconv::DeviceProperties& properties() const { return properties_; }

  /// True when sums are f32 FMA chains, not those of a tensor core.
  bool fastNumerics() const { return fastNumerics_; }

  /// Device memory with a copy of `values`.
  template <typename T>
  shiftconv::Memory upload(const std::vector<T>& values) {
    shiftconv::Memory memory(device_, values.size() * sizeof(T));
    device_.copyToDevice(memory.get(), values.data(), memory.bytes());
    return memory;
  }
  template <typename T>
  std::vector<T> download(const shiftconv::Memory& memory) {
    std::vector<T> values(memory.bytes() / sizeof(T));
    device_.copyToHost(values.data(), memory.get(), memory.bytes());
    device_.synchronize();
    return values;
  }
  /// Device memory full of NaN (all bits set), so that an element nothing wrote is noticed.
  shiftconv::Memory poisoned(size_t bytes);

  /// Plans and runs; `firstChannel` is where the layer's maps start in a pixel of `output`.
  LayerReport run(const Layer& layer, const shiftconv::Memory& input, shiftconv::Memory& output, int firstChannel);

  /// Since the device was opened; only when properties().emulated().
  CounterSummary counterSummary() const;

 private:
  void chooseSemantics(const std::string& choice);

  shiftconv::Device device_;
  shiftconv::DeviceProperties properties_;
  bool fastNumerics_ = false;
};

}  // namespace feature_maps
