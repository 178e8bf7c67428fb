#include "tests/hazards/kernels/test_kernels.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "common/numerics/float16.hpp"

namespace shiftconv::tests {

std::vector<Subject> testKernelSubjects() {
  std::vector<Subject> subjects;
  for (const auto make : {pipelinedGemmSubject, scaledGemmSubject, clusterPairSubject, pairGemmSubject, shiftRefillSubject,
                          scalarExchangeSubject, lastBlockSumSubject, epilogueTileSubject})
    subjects.push_back(make());
  subjects.push_back(tensormapEditSubject());
  return subjects;
}

std::string testKernelPtx(std::string_view kernel) {
  const std::string path = fmt::format("{}/{}.ptx", TEST_KERNEL_FOLDER, kernel);
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<float> smallFractions(size_t count, std::mt19937_64& random) {
  std::vector<float> values(count);
  for (float& value : values) {
    const uint64_t bits = random();
    value = static_cast<float>(1 + bits % 4) / 4 * ((bits >> 32) % 2 == 0 ? 1.0f : -1.0f);
  }
  return values;
}

std::vector<uint16_t> asF16(const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  bits.reserve(values.size());
  for (const float value : values) bits.push_back(numerics::encodeF16(value));
  return bits;
}

std::vector<double> productOfRows(const std::vector<float>& a, const std::vector<float>& b, size_t m, size_t n, size_t k) {
  std::vector<double> sums(m * n);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j)
      for (size_t l = 0; l < k; ++l) sums[i * n + j] += static_cast<double>(a[i * k + l]) * static_cast<double>(b[j * k + l]);
  return sums;
}

}  // namespace shiftconv::tests
