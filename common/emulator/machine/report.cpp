#include "common/emulator/machine/report.hpp"

#include <fmt/format.h>

#include <utility>

#include "common/emulator/kernel_title.hpp"

namespace shiftconv::emulator::machine {

namespace {

std::string sourcePlace(const ptx::Module& module, uint32_t sourceFile, uint32_t sourceLine) {
  const auto file = module.files.find(sourceFile);
  return fmt::format("{}:{}", file == module.files.end() ? "?" : file->second, sourceLine);
}

}  // namespace

std::string describe(const ptx::Module& module, const ptx::Instruction* instruction) {
  if (instruction == nullptr) return "the end of the function";
  const ptx::Location& location = instruction->location;
  std::string source;
  if (location.sourceLine != 0) source = fmt::format(" ({})", sourcePlace(module, location.sourceFile, location.sourceLine));
  std::string text = fmt::format("PTX line {}{}: {}", location.ptxLine, source, instruction->text);
  for (uint32_t number = location.inlinedAt; number != 0;) {
    const ptx::InlineSite& site = module.inlineSites[number - 1];
    text += fmt::format("{} {}", number == location.inlinedAt ? "\n      inlined at" : ",",
                        sourcePlace(module, site.sourceFile, site.sourceLine));
    number = site.inlinedAt;
  }
  return text;
}

const ptx::Instruction* instructionAt(const ptx::Module& module, uint32_t ptxLine) {
  for (const ptx::Function& function : module.functions)
    for (const ptx::Instruction& instruction : function.body)
      if (instruction.location.ptxLine == ptxLine) return &instruction;
  return nullptr;
}

std::string describe(const Warp& warp) {
  const Cta& cta = warp.cta;
  return fmt::format("CTA ({},{},{}) rank {}, warp {}", cta.ctaid.x, cta.ctaid.y, cta.ctaid.z, cta.rank, warp.index);
}

std::string describeNumbers(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[i]);
    if (last > i) text += fmt::format("{}{}", last == i + 1 ? ", " : "..", numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string describe(const std::vector<const Warp*>& warps) {
  std::string text;
  for (size_t i = 0; i < warps.size();) {
    const Cta& cta = warps[i]->cta;
    std::vector<uint32_t> numbers;
    for (; i < warps.size() && &warps[i]->cta == &cta; ++i) numbers.push_back(warps[i]->index);
    text += fmt::format("{}CTA ({},{},{}) rank {}, warp{} {}", text.empty() ? "" : "; ", cta.ctaid.x, cta.ctaid.y, cta.ctaid.z,
                        cta.rank, numbers.size() == 1 ? "" : "s", describeNumbers(numbers));
  }
  return text;
}

std::string describeLanes(LaneMask lanes) { return fmt::format("0x{:08x}", lanes); }

std::string errorContext(const Warp& warp, LaneMask lanes) {
  const Cluster& cluster = warp.cta.cluster;
  return fmt::format("\n  in kernel {}, {}, lanes {}\n  at {}", kernelTitle(cluster.kernel.source->name), describe(warp),
                     describeLanes(lanes), describe(cluster.program.module, warp.currentInstruction()));
}

bool goesOn(const Warp& warp, unsigned lane, std::string what, std::string missing) {
  const Cluster& cluster = warp.cta.cluster;
  if (cluster.observer == nullptr || cluster.options.hazards != HazardMode::Warn) return false;
  cluster.observer->ruleBroken(warp, lane, std::move(what), std::move(missing));
  return true;
}

}  // namespace shiftconv::emulator::machine
