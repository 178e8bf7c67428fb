// Layers of most engines of sm_90a (not stems and groups) in one stream, of which each starts while the one before it still ends
// (programmatic dependent launch). Three images take turns as input, residual and output: what a run reads and what it overwrites
// was read and written just before it, by other CTAs and through other caches.
#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <shiftconv/shiftconv.hpp>
#include <string>
#include <vector>

#include "common/numerics/float16.hpp"

namespace shiftconv::tests {

struct Layer {
  std::string text, algorithm, options;
  bool constantFilter = false;  ///< read before the run ahead has ended, where that is not waited for
};

/// All layers have images of one size, so that their outputs and inputs can take turns. `images`: "2x14x14", of 64 channels.
inline std::vector<Layer> layersOf(const std::string& images) {
  const std::string image = images + "x64 f16 * ";
  const std::string one = image + "64x1x1x64 -> f16 ", three = image + "64x3x3x64 pad 1,1,1,1 -> f16 ",
                    depthwise = image + "64x3x3x1 groups 64 pad 1,1,1,1 -> f16 ", rest = "bias residual 0.5 relu";
  return {{one + rest, "thin", ""},
          {three + rest, "halo", ""},
          {depthwise + "bias relu", "channelwise", ""},
          {three + rest, "im2col_sm90", "tile=64x32"},
          {three + "bias silu", "halo", "shape=k64_n64"},
          {three + rest, "resident", ""},
          {one + rest, "gathered", ""},
          {depthwise + "bias relu", "depthwise", ""},
          {one + rest, "im2col_sm90", "tile=128x64"},
          {three + "bias residual 0.5 hard_swish", "im2col_sm90", ""},
          {one + rest, "pointwise", ""},
          {three + rest, "im2col_sm90", "tile=64x32", true},
          {three + "bias silu", "halo", "", true},
          {three + rest, "resident", "", true},
          {one + rest, "direct", ""}};
}

inline std::vector<uint16_t> halves(std::mt19937_64& random, size_t count, double deviation) {
  std::normal_distribution<double> normal(0, deviation);
  std::vector<uint16_t> values(count);
  for (uint16_t& value : values) value = numerics::encodeF16(static_cast<float>(normal(random)));
  return values;
}

class Chain {
 public:
  /// `waits`: for every run, before the next one.
  Chain(Device& device, const std::string& images, uint64_t seed, bool waits) : device_(device), waits_(waits) {
    std::mt19937_64 random(seed);
    const auto put = [&](const void* from, size_t bytes) {
      memory_.push_back(std::make_unique<Memory>(device, bytes));
      device.copyToDevice(memory_.back()->get(), from, bytes);
      return memory_.back()->get();
    };
    const std::vector<Layer> layers = layersOf(images);
    const Convolution shape = Convolution::parse(layers[0].text);
    elements_ = static_cast<size_t>(shape.n * shape.h * shape.w * shape.c);
    for (void*& image : images_) {
      const auto values = halves(random, elements_, 1);
      image = put(values.data(), values.size() * 2);
    }
    for (const Layer& layer : layers) {
      const Convolution problem = Convolution::parse(layer.text);
      const int64_t reduction = problem.c / problem.groups * problem.r * problem.s;
      const auto filter =
          halves(random, static_cast<size_t>(problem.k * reduction), std::sqrt(1.2 / static_cast<double>(reduction)));
      const std::vector<float> bias(static_cast<size_t>(problem.k), 0.125f);
      std::string choices = layer.options;
      if (waits) choices += choices.empty() ? "dependent=no" : ",dependent=no";
      PlanOptions options;
      options.algorithm = layer.algorithm.c_str();
      options.options = choices.c_str();
      options.constant_filter = layer.constantFilter && !waits;
      steps_.push_back({Plan(problem, device.properties(), options), put(filter.data(), filter.size() * 2),
                        put(bias.data(), bias.size() * 4), problem.beta != 0});
    }
    device.synchronize();
  }

  /// Every image after all rounds.
  std::vector<uint16_t> run(int rounds) {
    Stream stream(device_);
    size_t turn = 0;
    for (int round = 0; round < rounds; ++round)
      for (const Step& step : steps_) {
        Tensors tensors;
        tensors.input = images_[turn % 3];
        if (step.hasResidual) tensors.residual = images_[(turn + 2) % 3];
        tensors.output = images_[(turn + 1) % 3];
        tensors.filter = step.filter, tensors.bias = step.bias;
        step.plan.run(device_, tensors, stream.get());
        if (waits_) stream.synchronize();
        ++turn;
      }
    stream.synchronize();
    std::vector<uint16_t> all(3 * elements_);
    for (size_t i = 0; i < images_.size(); ++i) device_.copyToHost(all.data() + i * elements_, images_[i], elements_ * 2);
    device_.synchronize();
    return all;
  }

 private:
  struct Step {
    Plan plan;
    void* filter;
    void* bias;
    bool hasResidual;
  };
  Device& device_;
  const bool waits_;
  size_t elements_ = 0;
  std::vector<std::unique_ptr<Memory>> memory_;
  std::array<void*, 3> images_{};
  std::vector<Step> steps_;
};

}  // namespace shiftconv::tests
