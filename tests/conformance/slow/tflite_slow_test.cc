// Every case of TensorFlow Lite's operators as an artifact.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/conformance/tflite/computed.h"

namespace hone {
namespace {

TEST(TfliteAnswers, AreThoseOfEveryArtifact) {
  const TfliteCases cases = all_tflite_cases();
  const ReadCases all = read_cases(cases);
  for (const std::string& fault : faults_of(all, run_as_artifacts(all))) ADD_FAILURE() << fault;
  std::cout << all.cases.size() << " cases\n";
}

}  // namespace
}  // namespace hone
