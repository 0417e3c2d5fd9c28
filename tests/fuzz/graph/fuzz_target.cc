// libFuzzer's program for one target, HONE_FUZZ_TARGET: `fuzz_onnx --seeds FOLDER` writes where to begin, then
// `fuzz_onnx -timeout=20 FOLDER`.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/graph/target.h"
#include "tests/fuzz/write_seeds.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace hone::fuzz;

const GraphTarget& target() {
  static const GraphTarget& found = graph_target(HONE_FUZZ_TARGET);
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  write_seeds_where_asked(*argc, *argv, target().seeds());
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  target().run({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  if (seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::mt19937_64 rng(seed);
  std::string bytes(reinterpret_cast<const char*>(data), size);
  for (uint64_t n = 1 + rng() % 4; n > 0; --n) bytes = target().mutate(bytes, rng);
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  bytes.copy(reinterpret_cast<char*>(data), bytes.size());
  return bytes.size();
}
