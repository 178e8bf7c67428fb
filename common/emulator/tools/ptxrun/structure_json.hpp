// Structures passed by value, described in JSON as the list of their fields:
//
//   ["i32:5", "ref:x+64", ["f32:1", "f32:2"], {"tmap": {"buffer": "x", ...}}, "bytes:tail.bin"]
//
// A field is what --arg takes (but no buffer), a tensor map, or a list: a structure inside. Fields stand where C++ puts them: at
// the next multiple of their alignment, which is the size of a scalar or an address, 64 bytes for a tensor map, 1 for bytes, and of
// a list the largest in it; the size of a list is rounded up to its alignment.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace ptxrun {

/// `valueOf` gives the bytes of a field that is written as an argument; `origin` names the description in errors. Throws UserError.
std::vector<std::byte> structureFromJson(const std::string& text, const std::string& origin,
                                         const std::function<std::vector<std::byte>(const std::string&)>& valueOf);

}  // namespace ptxrun
