// libFuzzer's program: everything it makes must be refused clearly or run clean. Inputs are mutated as modules, now and
// then as bytes.
//   build-fuzz/bin/fuzz_corpus corpus && build-fuzz/bin/fuzz_modules -timeout=60 corpus
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/fuzz/guarded_run.h"
#include "tests/fuzz/mutate_module.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const hone::fuzz::Report report = hone::fuzz::run_guarded({reinterpret_cast<const char*>(data), size});
  if (!report.violation.empty()) {
    std::fprintf(stderr, "%s\n", report.violation.c_str());
    std::abort();
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  std::mt19937_64 rng(seed);
  hone::proto::IrModule m;
  if (seed % 32 == 0 || !m.ParseFromArray(data, static_cast<int>(size))) return LLVMFuzzerMutate(data, size, max_size);
  hone::fuzz::mutate(&m, rng);
  const std::string bytes = m.SerializeAsString();
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  bytes.copy(reinterpret_cast<char*>(data), bytes.size());
  return bytes.size();
}
