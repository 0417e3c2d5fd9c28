// Every model of ONNX's test data as an artifact, as users run it: of Debian's libonnx-testdata, or of the data folder
// that HONE_ONNX_TESTDATA names (another release's, unpacked).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/conformance/node_models.h"

namespace hone {
namespace {

TEST(Conformance, EveryArtifactIsRight) {
  const char* given = std::getenv("HONE_ONNX_TESTDATA");
  const std::filesystem::path data = given ? given : "/usr/share/libonnx-testdata/data";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << data << " is not there";
  const Tally t = tally(node_models(data), listed_exceptions(data), standard_operators(), Engine::kArtifact);
  std::cout << fmt::format("{} of {} models are right as they are, {} with inputs that are bound\n", t.right, t.all,
                           t.right_when_bound);
  for (const std::string& fault : t.faults) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace hone
