// A C++17 program against the installed package: plan for a GPU that is not there, and read a refusal.
#include <shiftconv/shiftconv.hpp>

#include <iostream>

int main() try {
  shiftconv::Convolution problem;
  problem.n = 1, problem.h = 56, problem.w = 56, problem.c = 64;
  problem.k = 64, problem.r = 3, problem.s = 3;
  problem.pad_top = problem.pad_bottom = problem.pad_left = problem.pad_right = 1;
  problem.input_type = problem.filter_type = problem.output_type = SHIFTCONV_TYPE_BF16;

  const auto b200 = shiftconv::DeviceProperties::preset("B200");
  const shiftconv::Plan plan(problem, b200);
  if (plan.algorithm().empty() || plan.kernelName().empty() || plan.describe().empty()) {
    std::cerr << "unexpected plan: " << plan.describe() << '\n';
    return 1;
  }

  problem.stride_h = problem.stride_w = 2;
  const std::string reason = shiftconv::refusal(problem, b200, "shift_window");
  if (reason.find("stride") == std::string::npos) {
    std::cerr << "stride 2 should be refused with a reason, got: '" << reason << "'\n";
    return 1;
  }
  std::cout << "C++: " << plan.kernelName() << "; refused: " << reason << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
