// What a comparison found, as a table, as JSON, as a plot.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "bench/traffic/layers.hpp"
#include "bench/traffic/model.hpp"
#include "bench/traffic/projection.hpp"

namespace shiftconv::bench {

/// One algorithm on one layer.
struct Entry {
  std::string algorithm;
  std::string refusal;  ///< instead of all that follows
  Wish chosen;
  std::string_view map;  ///< of lanes, of shift_stream
  plan::Traffic planned;
  Projection projection;
  double difference = 0;  ///< of the planner's counts from the emulator's
  std::array<Modelled, kConstants.size()> modelled;
};

struct LayerReport {
  Layer layer;
  std::vector<Entry> entries;
  std::string plannersChoice;  ///< algorithm, options and estimate

  const Entry* find(std::string_view algorithm) const;  ///< null: refused
};

struct FileReport {
  std::string file;
  std::vector<LayerReport> layers;
};

/// smem and L2 activations of shift_stream without refill over those of im2col, the largest over the layers that the issue of all
/// this is about: 3x3, stride 1, K <= 64, W >= 56, both in pairs.
struct Headline {
  double shared = 0, activations = 0;
  int layers = 0;
};
Headline headline(const std::vector<FileReport>& files);

void print(const FileReport& report);
std::string toJson(const std::vector<FileReport>& reports, const Headline& headline);

/// An SVG of bars: bytes of every algorithm over those of im2col.
std::string plot(const std::vector<FileReport>& reports);

}  // namespace shiftconv::bench
