#include "common/emulator/machine/wait_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "common/emulator/machine/report.hpp"
#include "common/emulator/machine/warp_state.hpp"

namespace shiftconv::emulator::machine {
namespace {

/// An edge of the graph.
struct Helper {
  const Warp* warp = nullptr;
  const ptx::Instruction* arrival = nullptr;  ///< with which it arrived before; nullptr: it has not
};

bool waitsAt(const Warp& warp, const WaitTarget& target) {
  return std::any_of(warp.state->groups.begin(), warp.state->groups.end(), [&](const Group& group) {
    return group.status == Group::Status::Sleeping && group.reason.target.kind == target.kind &&
           group.reason.target.cta == target.cta && group.reason.target.id == target.id;
  });
}

std::vector<Helper> helpersOf(const Cluster& cluster, const WaitTarget& target) {
  std::vector<Helper> helpers;
  switch (target.kind) {
    case WaitTarget::Kind::Other:
      break;
    case WaitTarget::Kind::Mbarrier:
      for (const IssuePoint& arriver : target.cta->mbarriers.arrivers(target.id))
        helpers.push_back({cluster.ctas[arriver.ctaRank]->warps[arriver.warp].get(), arriver.instruction});
      break;
    case WaitTarget::Kind::Barrier:
      for (const auto& warp : target.cta->warps)
        if (!warp->state->finished() && !waitsAt(*warp, target)) helpers.push_back({warp.get(), nullptr});
      break;
    case WaitTarget::Kind::ClusterBarrier:
      for (const auto& cta : cluster.ctas)
        for (const auto& warp : cta->warps)
          if ((warp->state->alive() & ~warp->state->clusterArrived) != 0) helpers.push_back({warp.get(), nullptr});
      break;
  }
  return helpers;
}

class WaitGraph {
 public:
  explicit WaitGraph(const Cluster& cluster) : cluster_(cluster) {
    for (const auto& cta : cluster.ctas)
      for (const auto& warp : cta->warps) add(*warp);
  }

  std::string text() const {
    std::string text;
    for (const auto& [helpers, warps] : waits_) text += fmt::format("{} can be woken by{}\n", names(warps), helpers);
    return text + cycle();
  }

 private:
  static std::string name(const Warp& warp) { return fmt::format("warp {} of CTA rank {}", warp.index, warp.cta.rank); }
  /// "warps 0, 2..5 of CTA rank 0, warp 1 of CTA rank 1"
  static std::string names(const std::vector<const Warp*>& warps) {
    std::string text;
    for (size_t i = 0; i < warps.size();) {
      const Cta& cta = warps[i]->cta;
      std::vector<uint32_t> numbers;
      for (; i < warps.size() && &warps[i]->cta == &cta; ++i) numbers.push_back(warps[i]->index);
      text += fmt::format("{}warp{} {} of CTA rank {}", text.empty() ? "" : ", ", numbers.size() == 1 ? "" : "s",
                          describeNumbers(numbers), cta.rank);
    }
    return text;
  }
  /// Adds the warp to those with the same words.
  using Alike = std::vector<std::pair<std::string, std::vector<const Warp*>>>;
  static void put(Alike& alike, std::string words, const Warp* warp) {
    auto found = std::find_if(alike.begin(), alike.end(), [&](const auto& entry) { return entry.first == words; });
    if (found == alike.end()) found = alike.insert(alike.end(), {std::move(words), {}});
    found->second.push_back(warp);
  }

  void add(const Warp& warp) {
    for (const Group& group : warp.state->groups) {
      if (group.status != Group::Status::Sleeping || group.reason.target.kind == WaitTarget::Kind::Other) continue;
      const std::vector<Helper> helpers = helpersOf(cluster_, group.reason.target);
      Alike alike;
      for (const Helper& helper : helpers) {
        edges_[&warp].push_back(helper.warp);
        std::string words = helper.warp->state->finished() ? ", which has exited" : "";
        if (helper.arrival != nullptr)
          words += fmt::format(", which arrived before at {}", describe(cluster_.program.module, helper.arrival));
        put(alike, std::move(words), helper.warp);
      }
      std::string text = helpers.empty() ? " nobody: no arrival was seen so far" : "";
      for (const auto& [words, warps] : alike) text += fmt::format("\n  {}{}", names(warps), words);
      put(waits_, std::move(text), &warp);
    }
  }

  /// "cycle: warp 0 of CTA rank 0 -> warp 1 of CTA rank 0 -> warp 0 of CTA rank 0", or nothing.
  std::string cycle() const {
    for (const auto& [start, ignored] : edges_) {
      std::vector<const Warp*> path;
      if (!reaches(start, start, path)) continue;
      std::string text = "cycle: " + name(*start);
      for (const Warp* warp : path) text += " -> " + name(*warp);
      return text + "\n";
    }
    return "";
  }

  /// Depth-first; `path` are the warps from after `from` to `target`.
  bool reaches(const Warp* from, const Warp* target, std::vector<const Warp*>& path) const {
    const auto found = edges_.find(from);
    if (found == edges_.end()) return false;
    for (const Warp* next : found->second) {
      if (std::find(path.begin(), path.end(), next) != path.end()) continue;
      path.push_back(next);
      if (next == target || reaches(next, target, path)) return true;
      path.pop_back();
    }
    return false;
  }

  const Cluster& cluster_;
  Alike waits_;  ///< by what can end them
  std::map<const Warp*, std::vector<const Warp*>> edges_;
};

}  // namespace

std::string describeWaitGraph(const Cluster& cluster) { return WaitGraph(cluster).text(); }

}  // namespace shiftconv::emulator::machine
