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
  std::optional<Entry> whole;  ///< shift_stream with every column of tiles in one piece, of the layers of the headline

  const Entry* find(std::string_view algorithm) const;  ///< null: refused
};

struct FileReport {
  std::string file;
  std::vector<LayerReport> layers;
};

/// Layers where shift_stream is meant to move least: 3x3, stride 1, K <= 64, W >= 56.
bool isHeadlineLayer(const Problem& problem);

/// smem and L2 activations of shift_stream without refill over those of im2col, both in pairs: the largest over the layers of the
/// headline. Whole columns: a planner that has few images cuts columns of tiles into blocks of rows, to occupy the chip, and rows
/// between blocks are loaded and multiplied twice.
struct Headline {
  double shared = 0, activations = 0;        ///< with whole columns
  double sharedCut = 0, activationsCut = 0;  ///< with the planner's blocks of rows
  int layers = 0;
};
Headline headline(const std::vector<FileReport>& files);

void print(const FileReport& report);
std::string toJson(const std::vector<FileReport>& reports, const Headline& headline);

/// An SVG of bars: bytes of every algorithm over those of im2col.
std::string plot(const std::vector<FileReport>& reports);

}  // namespace shiftconv::bench
