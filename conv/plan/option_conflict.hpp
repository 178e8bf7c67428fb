// Why no plan has all of the options that were asked for.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace shiftconv::plan {

/// The options of every plan that agrees with some options, as texts "cut=flat,split=2"; empty when none does.
using PlansWith = std::function<std::vector<std::string>(std::string_view options)>;

/// A sentence: the option that stands in the way of the others, and what it could be instead. `options` is well-formed.
std::string noPlanWith(std::string_view algorithm, std::string_view options, const PlansWith& plansWith);

}  // namespace shiftconv::plan
