// libFuzzer's program for one target, HONE_FUZZ_TARGET: `fuzz_agent_stream --seeds FOLDER` writes where to begin, then
// `fuzz_agent_stream -timeout=20 FOLDER`.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fuzz/wire/mutate_message.h"
#include "tests/fuzz/wire/target.h"
#include "tests/fuzz/write_seeds.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace hone::fuzz;

const Target& target() {
  static const Target* const found = find_target(HONE_FUZZ_TARGET);
  return *found;
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
  static const std::vector<std::string> words = target().words();
  const auto message = target().form();
  if (!message || seed % 16 == 0 || !message->ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, max_size);
  std::mt19937_64 rng(seed);
  mutate(message.get(), rng, words);
  const std::string bytes = message->SerializeAsString();
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  bytes.copy(reinterpret_cast<char*>(data), bytes.size());
  return bytes.size();
}

// Two scripts, the beginning of one before the end of the other: repeated fields of concatenated messages are
// concatenated.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* one, size_t one_size, const uint8_t* other,
                                            size_t other_size, uint8_t* out, size_t max_size, unsigned int) {
  const size_t size = std::min(one_size + other_size, max_size);
  std::copy_n(one, std::min(one_size, size), out);
  if (size > one_size) std::copy_n(other, size - one_size, out + one_size);
  return size;
}
