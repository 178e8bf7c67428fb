// lane_pictures PTX FOLDER: draws the pictures of docs/sliding.md into FOLDER. PTX: build/<preset>/ladder/4_shift.ptx.
#include <fmt/format.h>

#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

#include "examples/lane_pictures/pictures.hpp"
#include "examples/lane_pictures/runs.hpp"

int main(int argc, char** argv) {
  using namespace lane_pictures;
  if (argc != 3) {
    fmt::print(stderr, "usage: lane_pictures build/quick/ladder/4_shift.ptx docs/pictures\n");
    return 1;
  }
  try {
    for (const Picture& picture :
         drawAll(runWorkedExample(argv[1]), runScaledStrip(true), runScaledStrip(false), runMaskedRows())) {
      const std::string path = std::string(argv[2]) + "/" + std::string(picture.file);
      std::ofstream file(path, std::ios::binary);
      file << picture.svg;
      if (!file.flush()) throw std::runtime_error("cannot write " + path);
      fmt::print("wrote {}\n", path);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "lane_pictures: {}\n", error.what());
    return 1;
  }
  return 0;
}
