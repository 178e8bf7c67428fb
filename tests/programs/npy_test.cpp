// .npy files: the format is NumPy's (numpy.lib.format), so the expected bytes are written out here.
#include "common/emulator/tools/ptxrun/npy.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <random>

#include "common/emulator/tools/ptxrun/user_error.hpp"

namespace shiftconv::tests {
namespace {

using namespace ptxrun;

class Npy : public testing::Test {
 protected:
  Npy() : path(std::filesystem::temp_directory_path() / ("shiftconv-npy-" + std::to_string(std::random_device{}()) + ".npy")) {}
  ~Npy() override { std::filesystem::remove(path); }

  void writeText(const std::string& text) const {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    writeBytes(path, {bytes, bytes + text.size()});
  }

  static std::string fileOf(char version, const std::string& header, const std::string& data) {
    const size_t length = header.size();
    std::string text =
        std::string("\x93NUMPY", 6) + version + '\0' + static_cast<char>(length & 255) + static_cast<char>(length >> 8);
    if (version > 1) text += std::string(2, '\0');
    return text + header + data;
  }

  std::string errorOf(const std::string& text) const {
    writeText(text);
    try {
      readNpy(path);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }

  const std::string path;
};

TEST_F(Npy, WritesTheBytesThatNumpyWrites) {
  writeNpy(path, {"f16", {2, 1}, {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}});
  const std::vector<std::byte> bytes = readBytes(path);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string dictionary = "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 1), }";
  const std::string expected = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dictionary +
                               std::string(118 - 1 - dictionary.size(), ' ') + "\n\x01\x02\x03\x04";
  EXPECT_EQ(text, expected);
}

TEST_F(Npy, EveryTypeSurvivesTheRoundTrip) {
  for (const std::string_view type : elementTypes()) {
    Array array{std::string(type), {3, 5}, std::vector<std::byte>(15 * elementBytes(type))};
    for (size_t i = 0; i < array.data.size(); ++i) array.data[i] = static_cast<std::byte>(37 * i + 11);
    writeNpy(path, array);
    const Array copy = readNpy(path);
    EXPECT_EQ(copy.type, type == "bf16" ? "u16" : type) << "NumPy has no bf16";
    EXPECT_EQ(copy.shape, array.shape);
    EXPECT_EQ(copy.data, array.data);
  }
}

TEST_F(Npy, ScalarsVectorsAndEmptyArrays) {
  for (const std::vector<uint64_t>& shape : {std::vector<uint64_t>{}, {7}, {0}, {2, 0, 3}, {1, 1, 1, 1, 4}}) {
    writeNpy(path, {"i32", shape, std::vector<std::byte>(4 * elementCount(shape), std::byte{5})});
    EXPECT_EQ(readNpy(path).shape, shape);
  }
}

TEST_F(Npy, ReadsOtherVersionsAndSpellings) {
  for (const char version : {1, 2, 3}) {
    writeText(fileOf(version, "{'shape': (2,), 'fortran_order': False, 'descr': '<i2'}\n", "abcd"));
    const Array array = readNpy(path);
    EXPECT_EQ(array.type, "i16");
    EXPECT_EQ(array.shape, std::vector<uint64_t>{2});
    EXPECT_EQ(array.data.size(), 4u);
  }
  writeText(fileOf(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (1, 3), }\n", "abc"));
  EXPECT_EQ(readNpy(path).type, "u8");
}

TEST_F(Npy, RefusesWhatItCannotRepresent) {
  const auto header = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  };
  EXPECT_NE(errorOf("PK\x03\x04 a zip file").find("is no .npy file"), std::string::npos);
  EXPECT_NE(errorOf(fileOf(9, header("'<f4'", "False", "(1,)"), "abcd")).find("version 9"), std::string::npos);
  EXPECT_NE(errorOf(fileOf(1, header("'>f4'", "False", "(1,)"), "abcd")).find("big endian"), std::string::npos);
  EXPECT_NE(errorOf(fileOf(1, header("'<c8'", "False", "(1,)"), "abcdefgh")).find("'<c8'"), std::string::npos);
  EXPECT_NE(errorOf(fileOf(1, header("[('x', '<f4')]", "False", "(1,)"), "abcd")).find("structured"), std::string::npos);
  EXPECT_NE(errorOf(fileOf(1, header("'<f4'", "True", "(1,)"), "abcd")).find("Fortran"), std::string::npos);
  EXPECT_NE(
      errorOf(fileOf(1, header("'<f4'", "False", "(2,)"), "abcd")).find("holds 4 bytes of data, but 2 elements of f32 need 8"),
      std::string::npos);
  EXPECT_NE(errorOf(fileOf(1, "{'descr': '<f4'}\n", "abcd")).find("no 'shape'"), std::string::npos);
  EXPECT_NE(errorOf(fileOf(1, header("'<f4'", "False", "(1,)"), "").substr(0, 40)).find("ends inside of the .npy header"),
            std::string::npos);
  EXPECT_NE(errorOf(fileOf(1, header("'<f8'", "False", "(4294967296, 4294967296)"), "")).find("too large"), std::string::npos);
}

}  // namespace
}  // namespace shiftconv::tests
