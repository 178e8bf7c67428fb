// For algorithms that leave a convolution to another one and launch kernels of their own around it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conv/plan/algorithm.hpp"
#include "conv/plan/inner_search.hpp"

namespace shiftconv::plan {

/// Of the wrappers around other algorithms, whose inner plan this is about.
inline constexpr OptionDescription kBatchInvariantOption{
    "batch_invariant", "yes, no", "sum as for one image, so that results of an image do not depend on n; no"};

/// Of kBatchInvariantOption; no where it is not set.
Status readBatchInvariant(const OptionValues& values, bool& isInvariant);

/// What `search` takes for `inner`: by any algorithm, or by the one that the option `algorithm` of `owner` names, which is not
/// `owner`; as kBatchInvariantOption says.
Status bestInner(const InnerSearch& search, std::string_view owner, std::span<const OptionDescription> options,
                 std::string_view text, const Problem& inner, const device::Properties& properties, Candidate& best);

/// A place for `bytes` more bytes in the plan's workspace, or in its packed filter.
TensorPlace placeInWorkspace(size_t bytes, Plan& plan);
TensorPlace placeInPackedFilter(size_t bytes, Plan& plan);

/// Appends the launches of a candidate of `inner`, whose tensors lie at `places`, its workspace after the plan's, and what it
/// packs after what the plan packs.
Status addInner(const Candidate& best, const Problem& inner, const device::Properties& properties, PerTensor<TensorPlace> places,
                Plan& plan);

/// Every tensor where it is given.
PerTensor<TensorPlace> placesAsGiven();

}  // namespace shiftconv::plan
