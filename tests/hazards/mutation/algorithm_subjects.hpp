// The kernels of the algorithms as subjects, each on the problems that the folder of its tests lists.
//
// tests/algorithms/<algorithm>/mutation.txt is a table (see table_file.hpp) with three kinds of rows, in which "-" stands for
// nothing:
//
//   kernel | <set> | <architecture> | <options>; <options>... | <functions>
//     A subject for each of these options, on the trials that follow. The set is that of `mutation_score --set`. Functions: parts
//     of names, separated by spaces; mutants are made only of what was inlined from such functions.
//   trial | <name> | <problem> | <options> | <multiprocessors> [| <bytes of L2>]
//     Every trial of a kernel has to take the same one. Besides it, plans may only have launches that prepare zero points. A small L2
//     makes small problems leave it.
//   none | <why>
//     Alone in its file: no mutants are made here.
#pragma once

#include <string_view>
#include <vector>

#include "tests/support/subject.hpp"

namespace shiftconv::tests {

/// Those of the set, in the order of the algorithms' names. Throws std::runtime_error that names file and line of what is wrong.
std::vector<Subject> algorithmSubjects(std::string_view set);

}  // namespace shiftconv::tests
