// Names of the special registers (PTX ISA 9.0, chapter 10).
#include <algorithm>
#include <array>

#include "common/emulator/isa/decode_context.hpp"
#include "common/emulator/isa/layout.hpp"
#include "common/emulator/machine/memory.hpp"

namespace shiftconv::emulator::isa {
namespace {

using ptx::ScalarType;
using S = SpecialRegister;

constexpr std::array kNames = {
    SpecialName{"%tid.x", S::TidX, ScalarType::U32},
    SpecialName{"%tid.y", S::TidY, ScalarType::U32},
    SpecialName{"%tid.z", S::TidZ, ScalarType::U32},
    SpecialName{"%ntid.x", S::NtidX, ScalarType::U32},
    SpecialName{"%ntid.y", S::NtidY, ScalarType::U32},
    SpecialName{"%ntid.z", S::NtidZ, ScalarType::U32},
    SpecialName{"%ctaid.x", S::CtaidX, ScalarType::U32},
    SpecialName{"%ctaid.y", S::CtaidY, ScalarType::U32},
    SpecialName{"%ctaid.z", S::CtaidZ, ScalarType::U32},
    SpecialName{"%nctaid.x", S::NctaidX, ScalarType::U32},
    SpecialName{"%nctaid.y", S::NctaidY, ScalarType::U32},
    SpecialName{"%nctaid.z", S::NctaidZ, ScalarType::U32},
    SpecialName{"%laneid", S::LaneId, ScalarType::U32},
    SpecialName{"%warpid", S::WarpId, ScalarType::U32},
    SpecialName{"%nwarpid", S::NwarpId, ScalarType::U32},
    SpecialName{"%smid", S::SmId, ScalarType::U32},
    SpecialName{"%nsmid", S::NsmId, ScalarType::U32},
    SpecialName{"%gridid", S::GridId, ScalarType::U64},
    SpecialName{"%clusterid.x", S::ClusterIdX, ScalarType::U32},
    SpecialName{"%clusterid.y", S::ClusterIdY, ScalarType::U32},
    SpecialName{"%clusterid.z", S::ClusterIdZ, ScalarType::U32},
    SpecialName{"%nclusterid.x", S::NclusterIdX, ScalarType::U32},
    SpecialName{"%nclusterid.y", S::NclusterIdY, ScalarType::U32},
    SpecialName{"%nclusterid.z", S::NclusterIdZ, ScalarType::U32},
    SpecialName{"%cluster_ctaid.x", S::ClusterCtaidX, ScalarType::U32},
    SpecialName{"%cluster_ctaid.y", S::ClusterCtaidY, ScalarType::U32},
    SpecialName{"%cluster_ctaid.z", S::ClusterCtaidZ, ScalarType::U32},
    SpecialName{"%cluster_nctaid.x", S::ClusterNctaidX, ScalarType::U32},
    SpecialName{"%cluster_nctaid.y", S::ClusterNctaidY, ScalarType::U32},
    SpecialName{"%cluster_nctaid.z", S::ClusterNctaidZ, ScalarType::U32},
    SpecialName{"%cluster_ctarank", S::ClusterCtaRank, ScalarType::U32},
    SpecialName{"%cluster_nctarank", S::ClusterNctaRank, ScalarType::U32},
    SpecialName{"%is_explicit_cluster", S::IsExplicitCluster, ScalarType::Pred},
    SpecialName{"%lanemask_eq", S::LanemaskEq, ScalarType::U32},
    SpecialName{"%lanemask_le", S::LanemaskLe, ScalarType::U32},
    SpecialName{"%lanemask_lt", S::LanemaskLt, ScalarType::U32},
    SpecialName{"%lanemask_ge", S::LanemaskGe, ScalarType::U32},
    SpecialName{"%lanemask_gt", S::LanemaskGt, ScalarType::U32},
    SpecialName{"%dynamic_smem_size", S::DynamicSmemSize, ScalarType::U32},
    SpecialName{"%total_smem_size", S::TotalSmemSize, ScalarType::U32},
    SpecialName{"%aggr_smem_size", S::AggrSmemSize, ScalarType::U32},
};

}  // namespace

const SpecialName* findSpecial(std::string_view name) {
  const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const SpecialName& entry) { return entry.name == name; });
  return found == kNames.end() ? nullptr : &*found;
}

std::optional<FixedSpecial> fixedSpecial(const Program& program, std::string_view name) {
  if (name == "%envreg1" || name == "%envreg2") {
    const auto workspace = program.globalOffsets.find(std::string(kGridWorkspace));
    if (workspace == program.globalOffsets.end()) return std::nullopt;
    const uint64_t address = program.globalBase + workspace->second;
    return FixedSpecial{ScalarType::B32, name == "%envreg1" ? address >> 32 : address & UINT32_MAX};
  }
  // Offsets 0 and 1 are areas that the toolkit's own headers use (cooperative groups: 12 bytes at offset 1).
  if (name == "%reserved_smem_offset_begin" || name == "%reserved_smem_offset_0") return FixedSpecial{ScalarType::U32, 0};
  if (name == "%reserved_smem_offset_1") return FixedSpecial{ScalarType::U32, machine::kReservedSharedBytes / 2};
  if (name == "%reserved_smem_offset_end" || name == "%reserved_smem_offset_cap")
    return FixedSpecial{ScalarType::U32, machine::kReservedSharedBytes};
  if (name == "%current_graph_exec") return FixedSpecial{ScalarType::U64, 0};  // no kernel runs inside a graph here
  return std::nullopt;
}

}  // namespace shiftconv::emulator::isa
