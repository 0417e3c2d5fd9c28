// Some hundreds of seeded mutations of messages from agents, sessions, trackers, browsers and the agent's processes.
// The long form is libFuzzer beside it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/fuzz/wire/mutate_message.h"
#include "tests/fuzz/wire/target.h"

namespace hone::fuzz {
namespace {

// One byte changed, dropped or doubled, in one to eight places.
std::string mutate_bytes(std::string bytes, std::mt19937_64& rng) {
  for (size_t n = 1 + rng() % 8; n > 0 && !bytes.empty(); --n) {
    const size_t at = rng() % bytes.size();
    if (rng() % 4 == 0)
      bytes.erase(at, 1 + rng() % 4);
    else if (rng() % 4 == 0)
      bytes.insert(at, bytes.substr(at, 1 + rng() % 8));
    else
      bytes[at] = static_cast<char>(rng());
  }
  return bytes;
}

class WireReplay : public testing::TestWithParam<Target> {};

// HONE_FUZZ_COUNT makes more of them, from HONE_FUZZ_FIRST on.
uint64_t setting(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

TEST_P(WireReplay, SeedsAndTheirMutationsDoNoHarm) {
  const Target& target = GetParam();
  const std::vector<std::string> seeds = target.seeds(), words = target.words();
  ASSERT_FALSE(seeds.empty());
  for (const std::string& seed : seeds) target.run(seed);
  const uint64_t first = setting("HONE_FUZZ_FIRST", 0), count = setting("HONE_FUZZ_COUNT", 300);
  for (uint64_t n = first; n < first + count; ++n) {
    SCOPED_TRACE("mutation " + std::to_string(n));
    std::mt19937_64 rng(n);
    std::string bytes = seeds[n % seeds.size()];
    const auto message = target.form();
    if (message && n % 8 != 0 && message->ParseFromString(bytes)) {
      for (size_t rounds = 1 + rng() % 8; rounds > 0; --rounds) mutate(message.get(), rng, words);
      bytes = message->SerializeAsString();
    } else {
      bytes = mutate_bytes(std::move(bytes), rng);
    }
    target.run(bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, WireReplay, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hone::fuzz
