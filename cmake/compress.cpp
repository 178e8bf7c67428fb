// compress FROM TO LEVEL: a file as one zstd frame that states the size of its contents.
#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: compress FROM TO LEVEL\n");
    return 2;
  }
  std::ifstream from(argv[1], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(from), {}};
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), std::atoi(argv[3]));
  if (!from || text.empty() || ZSTD_isError(size) != 0) {
    std::fprintf(stderr, "compress: cannot read or compress %s\n", argv[1]);
    return 1;
  }
  std::ofstream to(argv[2], std::ios::binary);
  to.write(packed.data(), static_cast<std::streamsize>(size));
  if (!to.flush()) {
    std::fprintf(stderr, "compress: cannot write %s\n", argv[2]);
    return 1;
  }
  return 0;
}
