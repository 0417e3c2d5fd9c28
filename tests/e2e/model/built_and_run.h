// Models of tests as artifacts.
#pragma once

#include <gmock/gmock.h>

#include <fstream>

#include "compiler/model/run_model.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"

namespace hone {

inline TensorData floats(const std::vector<int64_t>& shape, const std::vector<float>& v) {
  return {{f32, shape}, {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)}};
}

/// Builds `m` with tensorc into `folder`/m.so; it is checked against the interpreter meanwhile. Whether that went well.
inline bool is_built_and_checked(const TestModel& m, const std::string& folder) {
  std::ofstream(folder + "/m.onnx", std::ios::binary) << m.model.SerializeAsString();
  const Ran ran =
      shell("cd " + folder + " && " + kBin + "/tensorc m.onnx --config default --threads 1 --check -o m.so 2>&1");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, testing::HasSubstr("the whole agrees with the imported model"));
  return ran.code == 0;
}

/// The elements of the artifact's first output.
inline std::vector<double> built_and_run(const TestModel& m, const std::vector<TensorData>& inputs) {
  const TemporaryFolder folder;
  if (!is_built_and_checked(m, folder.path())) return {};
  return LoadedModel(folder.path() + "/m.so", "m", 1).run(inputs)[0].values();
}

}  // namespace hone
