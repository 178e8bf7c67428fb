// What all plans of a problem begin with, and where their tiles find boxes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/halo/cut.hpp"
#include "conv/algorithms/halo/kernels.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/folded_depth.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan::sm90::halo {

/// What the plans of a problem are worked out from.
class Task {
 public:
  Problem problem;
  const device::Properties& properties;
  Geometry g = geometryOf(problem);
  Taps taps = tapsOf(g);
  double bytes = bytesOnce(problem);
  std::string kind = kindOf(problem);
  std::vector<HaloModule> modules = modulesOf(problem);

  Task(const Problem& asked, const device::Properties& of) : problem(foldedDepth(asked)), properties(of) {}

  /// Whether there are few enough strides and taps for any plan.
  bool isPossible() const { return g.strideH * g.strideW <= kMaximumInputMaps && g.t * g.r * g.s <= kMaximumTaps; }
  /// Whether tiles are offered cut in one way alone. Boxes of 1x1 layers without stride hold the same pixels in every cut, and of
  /// 4953 recorded problems 9 took longer in the dense one than in the best of all, by 3 % at most.
  bool isDense() const { return g.t * g.r * g.s == 1 && g.strideD * g.strideH * g.strideW == 1; }
  /// Whether it is a kernel of these operands and outputs, and the first of its name. Kernels with the whole epilogue alone have
  /// names that modules before theirs have, too.
  bool has(const ShapeEntry& shape, size_t module) const {
    if (!suits(shape)) return false;
    for (size_t i = 0; shape.isFull() && i < module; ++i)
      for (const ShapeEntry& other : shapesOf(modules[i]))
        if (suits(other) && other.name == shape.name) return false;
    return true;
  }

 private:
  bool suits(const ShapeEntry& shape) const {
    if (shape.residual && problem.activation == Activation::Silu && !shape.mayHaveSilu()) return false;
    if (problem.hasSpreadOutput() && (shape.isFull() || !hasWholeRows(problem))) return false;  // rows that the copy engine stores
    if (shape.sharesBoxes && (g.groups > 1 || g.t * g.r * g.s > 1)) return false;
    if (!shape.kind.empty() && shape.kind != kind) return false;
    if (!shape.takesOutputsOf(g.outputBytes)) return false;
    return !shape.needsWholeRows() || hasWholeRows(problem);
  }
};

/// Where shapes of as many pixels find their boxes.
struct Place {
  bool isPossible = false;
  Cut cut;
  Boxes boxes;
  int64_t ofOutput = 0;  ///< boxes of output pixels
};

/// The places of a task, each worked out once.
class Places {
 public:
  explicit Places(const Task& task) : task_(task) { places_.reserve(kUsual); }

  /// The reference holds until the next call.
  const Place& of(const ShapeEntry& shape, HaloCut kind) {
    if (shape.tail > 0) return places_.emplace_back(find(shape, kind));  // these have a tile of their own
    uint8_t& known = numbers_[static_cast<size_t>(kind)].at(static_cast<size_t>(shape.tileN) / kStep);
    if (known == kNone) {
      known = static_cast<uint8_t>(places_.size() + 1);
      places_.push_back(find(shape, kind));
    }
    return places_[known - 1u];
  }

 private:
  static constexpr size_t kCuts = 3, kStep = 8, kMostPixels = 256;  // of a shape
  static constexpr size_t kUsual = 64;
  static constexpr uint8_t kNone = 0;

  Place find(const ShapeEntry& shape, HaloCut kind) const {
    Place place;
    const Geometry& g = task_.g;
    const Cut& cut = place.cut;
    place.isPossible =
        cutInto(g, task_.taps, kind, shape.tileN, place.cut) && boxesOf(g, task_.taps, cut, shape.tileN, shape.tail, place.boxes);
    place.ofOutput = place.isPossible ? ceilDivide(g.q, cut.columns) * ceilDivide(g.p, cut.rows) * ceilDivide(g.n, cut.images) : 0;
    return place;
  }

  const Task& task_;
  std::vector<Place> places_;
  std::array<std::array<uint8_t, kMostPixels / kStep + 1>, kCuts> numbers_{};  ///< in places_, counted from 1
};

}  // namespace shiftconv::plan::sm90::halo
