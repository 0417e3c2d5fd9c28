// libhone as strangers call it: sequences of calls drawn at random, most with arguments that are wrong. Each is done or
// refused as the headers say. A sequence that fails is printed; HONE_FUZZ_SEED=N HONE_FUZZ_COUNT=1 makes it again,
// HONE_FUZZ_PRINT=1 prints all. More: HONE_FUZZ_COUNT=100000.
#include <gmock/gmock.h>
#include <hone_compiler.h>
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "tests/fuzz/library/building.h"
#include "tests/fuzz/library/files.h"
#include "tests/fuzz/library/running.h"
#include "tests/fuzz/library/trace.h"

namespace hone::fuzz {
namespace {

namespace fs = std::filesystem;

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

std::ptrdiff_t entries(const std::string& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

// Whether it comes true soon: threads, children and their folders go a moment after who waited for them.
bool settles(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!is_so() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return is_so();
}

// In a folder of its own, which is the working folder and that of temporary files, too: whoever leaves a file is seen.
struct LibrarySequences : testing::Test {
  // Warnings of the log are for stderr.
  static void SetUpTestSuite() { setenv("HONE_LOG", "error", 1); }
  LibrarySequences() {
    fs::current_path(here.path());
    setenv("TMPDIR", here.path().c_str(), 1);
    setenv("HONE_DB", files.path("hub.db").c_str(), 1);
  }
  ~LibrarySequences() override {
    fs::current_path("/");
    unsetenv("TMPDIR"), unsetenv("HONE_DB");
  }

  // The fault in a sequence; empty: none.
  std::string sequence(uint64_t seed, const std::string& name) const {
    std::mt19937_64 rng(seed);
    begin_trace(name + " " + std::to_string(seed));
    Runner runner(files);
    for (uint64_t calls = 1 + rng() % 16; calls > 0; --calls) {
      const bool is_running = rng() % 3 != 0;
      std::string wrong = is_running ? runner.call(rng) : call_compiler(files, rng);
      if (!wrong.empty()) return wrong + "\n" + traced();
    }
    return "";
  }

  Files files;
  TemporaryFolder here;
};

// gRPC makes some objects once in a process, in its first search.
void tune_once() {
  const char* const options[] = {"--workload=dense(m=4,n=4,k=4)", "--trials=1", "--threads=1", "--fresh",
                                 "--timeout=60"};
  ASSERT_EQ(hone_tune(options, 5, nullptr, nullptr), HONE_OK) << hone_last_error();
}

TEST_F(LibrarySequences, AreDoneOrRefusedAsTheHeadersSay) {
  const uint64_t first = setting("HONE_FUZZ_SEED", 0), count = setting("HONE_FUZZ_COUNT", 200);
  // The logger and LLVM's tables are made once, too.
  tune_once();
  for (uint64_t seed = 0; seed < 20; ++seed) (void)sequence(1000000007 + seed, "warm");
  constexpr std::ptrdiff_t kOfGrpc = 12;
  const auto handles = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  const size_t bytes = mallinfo2().uordblks;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::string wrong, written;
    {
      const Quiet quiet;
      wrong = sequence(seed, "sequence");
      written = quiet.written();
    }
    if (setting("HONE_FUZZ_PRINT", 0)) std::printf("%s", traced().c_str());
    ASSERT_EQ(wrong, "");
    ASSERT_EQ(written, "") << traced();
    if (!settles([&] { return entries(here.path()) == 0; }))
      FAIL() << *fs::directory_iterator(here.path()) << " is left\n" << traced();
    // gRPC's pool of threads grows and shrinks by itself; leftovers of calls would add up.
    ASSERT_TRUE(settles([&] { return entries("/proc/self/fd") <= handles + kOfGrpc; }))
        << entries("/proc/self/fd") << " descriptors, " << handles << " before\n"
        << traced();
    ASSERT_TRUE(settles([&] { return entries("/proc/self/task") <= threads + kOfGrpc; }))
        << entries("/proc/self/task") << " threads, " << threads << " before\n"
        << traced();
  }
  EXPECT_LT(mallinfo2().uordblks, bytes + (size_t{64} << 20));
}

TEST_F(LibrarySequences, OfSeveralThreadsDoNotMeet) {
  const uint64_t first = setting("HONE_FUZZ_SEED", 0) + 500000, count = setting("HONE_FUZZ_COUNT", 200) / 10;
  std::vector<std::string> wrong(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (uint64_t seed = 0; seed < count && wrong[t].empty(); ++seed)
        wrong[t] = sequence(first + seed * wrong.size() + t, "thread's sequence");
    });
  for (std::thread& t : threads) t.join();
  EXPECT_THAT(wrong, testing::Each(""));
}

// One model, one pool; two threads beside that open and close the same file.
TEST_F(LibrarySequences, OfOneModelAreRunByManyThreads) {
  const uint64_t first = setting("HONE_FUZZ_SEED", 0), count = setting("HONE_FUZZ_COUNT", 200) * 4;
  HoneModel* opened = nullptr;
  ASSERT_EQ(hone_open(files.path("batch.so").c_str(), &opened), HONE_OK) << hone_last_error();
  const Model model(opened);
  const Pool pool(hone_pool_new(2));
  std::vector<std::string> wrong(5);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      begin_trace("thread " + std::to_string(t) + " of one model");
      for (uint64_t i = 0; i < count && wrong[t].empty(); ++i) {
        std::mt19937_64 rng((first + i) * wrong.size() + t);
        if (t < 3) {
          wrong[t] = run_model(model.get(), rng() % 2 ? pool.get() : nullptr, rng);
        } else {
          HoneModel* other = nullptr;
          if (hone_open(files.path("batch.so").c_str(), &other) != HONE_OK) wrong[t] = hone_last_error();
          const Model closed(other);
          if (other) wrong[t] = run_model(other, nullptr, rng);
        }
      }
      if (!wrong[t].empty()) wrong[t] += "\n" + traced();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_THAT(wrong, testing::Each(""));
}

}  // namespace
}  // namespace hone::fuzz
