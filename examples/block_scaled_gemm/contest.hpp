// One format: quantise, multiply on the device, and measure both errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/layout/scale_factor_layout.hpp"
#include "common/numerics/block_format.hpp"

namespace block_scaled_gemm {

/// The formats of A and B; blockSize 0: a plain type without scale factors.
struct Contestant {
  std::string name;
  shiftconv::numerics::BlockFormat a, b;
};
/// In the order of the table.
const std::vector<Contestant>& contestants();

/// A is [m][k], B is [n][k], both row-major.
struct Matrices {
  int64_t m = 0, n = 0, k = 0;
  std::vector<float> a, b;
};

/// Seeded random matrices; see the option --distribution.
Matrices randomMatrices(int64_t m, int64_t n, int64_t k, const std::string& distribution, uint32_t seed);

/// sum over k of a[i][k] * b[j][k] in double: [m][n].
std::vector<double> exactProduct(const Matrices& matrices);

struct Measurement {
  double bitsPerElement = 0;  ///< scale factors included, the mean of A and B
  double formatError = 0;     ///< of the exact product of the quantised matrices, root mean square relative to that of the product
  double worstError = 0;      ///< the largest of these errors, relative to the same
  double kernelError = 0;     ///< of the device's product against that exact one, root mean square relative to the same
  double ofBound = 0;         ///< the largest kernel error as a part of its bound; more than 1 is a fault, 0 exact
  bool layoutsAgree = true;   ///< the bits are the same with scale factors in either order
};

/// Multiplies with scale factors in each of the orders given. `exact` comes from exactProduct. Throws std::runtime_error with what
/// the planner or the device said.
Measurement measure(const Contestant& contestant, const Matrices& matrices, const std::vector<double>& exact,
                    const std::vector<shiftconv::layout::ScaleFactorLayout>& layouts, shiftconv::device::Device& device);

}  // namespace block_scaled_gemm
