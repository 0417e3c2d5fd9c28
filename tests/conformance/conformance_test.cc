// ONNX's own test data (Debian's libonnx-testdata): all models interpreted, and a twentieth of them as artifacts; all
// of these have the label slow.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "tests/conformance/node_models.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

const fs::path kData = "/usr/share/libonnx-testdata/data";

void expect_right(const std::vector<fs::path>& folders, Engine engine) {
  const Tally t = tally(folders, listed_exceptions(kData), standard_operators(), engine);
  std::cout << fmt::format("{} of {} models are right, {} of them with inputs that are bound\n",
                           t.right + t.right_when_bound, t.all, t.right_when_bound);
  for (const std::string& fault : t.faults) ADD_FAILURE() << fault;
}

TEST(Conformance, InterpretedModelsAreRight) {
  if (!fs::exists(kData)) GTEST_SKIP() << "libonnx-testdata is not installed";
  expect_right(node_models(kData), Engine::kInterpreter);
}

TEST(Conformance, ATwentiethOfTheArtifactsIsRight) {
  if (!fs::exists(kData)) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::vector<fs::path> folders = node_models(kData), some;
  std::sample(folders.begin(), folders.end(), std::back_inserter(some), folders.size() / 20, std::mt19937(1));
  expect_right(some, Engine::kArtifact);
}

}  // namespace
}  // namespace hone
