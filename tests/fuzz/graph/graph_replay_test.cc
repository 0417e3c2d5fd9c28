// Ten thousand seeded mutations of models' files and graphs' texts. The long form is libFuzzer beside it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/fuzz/graph/target.h"

namespace hone::fuzz {
namespace {

class GraphReplay : public testing::TestWithParam<GraphTarget> {};

// HONE_FUZZ_COUNT makes more of them, from HONE_FUZZ_FIRST on; HONE_FUZZ_KEEP names a file for failing inputs.
uint64_t setting(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

TEST_P(GraphReplay, SeedsAndTheirMutationsDoNoHarm) {
  const GraphTarget& target = GetParam();
  const std::vector<std::string> seeds = target.seeds();
  ASSERT_FALSE(seeds.empty());
  for (const std::string& seed : seeds) target.run(seed);
  const uint64_t first = setting("HONE_FUZZ_FIRST", 0), count = setting("HONE_FUZZ_COUNT", 10000);
  for (uint64_t n = first; n < first + count; ++n) {
    std::mt19937_64 rng(n);
    std::string bytes = seeds[n % seeds.size()];
    for (size_t rounds = 1 + rng() % 8; rounds > 0; --rounds) bytes = target.mutate(bytes, rng);
    try {
      target.run(bytes);
    } catch (const std::exception& e) {
      if (const char* file = std::getenv("HONE_FUZZ_KEEP")) std::ofstream(file, std::ios::binary) << bytes;
      FAIL() << "mutation " << n << ": " << e.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GraphReplay, testing::ValuesIn(graph_targets()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hone::fuzz
