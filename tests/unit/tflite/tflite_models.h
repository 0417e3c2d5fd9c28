// Models of TensorFlow Lite written to files, imported and computed.
#pragma once

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

#include "compiler/frontend/tflite/import.h"
#include "compiler/graph/evaluate.h"
#include "compiler/ir/extents.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/tflite_model.h"
#include "tests/unit/graph/read_graph.h"

namespace hone::tflite {

using Floats = std::vector<float>;

inline std::string floats_of(const Floats& v) { return bytes_of_numbers(v); }
inline TensorData tensor(const Extents& shape, const Floats& v) { return {{f32, shape}, floats_of(v)}; }
inline TensorData whole(const Extents& shape, const std::vector<int32_t>& v) {
  return {{i32, shape}, bytes_of_numbers(v)};
}
/// Numbers between -1 and 1 that differ.
inline Floats some_numbers(int64_t count, int seed) {
  Floats out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>((static_cast<int>(i) * 37 + seed * 11) % 101 - 50) / 50;
  return out;
}

/// A folder with a model in it.
class TfliteFolder {
 public:
  std::string path() const { return folder_.path() + "/m.tflite"; }
  void write(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }
  ImportedModel import(TfliteModel& m, const ImportOptions& options = {}) const {
    write(m.bytes());
    ImportedModel out = import_tflite(path(), test_operators(), options);
    verify(out.graph);
    return out;
  }
  /// The refusal, without the path at its beginning; "accepted" where it is not.
  std::string refusal_of_bytes(const std::string& bytes, const ImportOptions& options = {}) const {
    write(bytes);
    try {
      import_tflite(path(), test_operators(), options);
    } catch (const UserError& e) {
      const std::string text = e.what(), begin = path() + ": ";
      EXPECT_EQ(text.substr(0, begin.size()), begin);
      return text.substr(std::min(begin.size(), text.size()));
    }
    return "accepted";
  }
  std::string refusal(TfliteModel& m, const ImportOptions& options = {}) const {
    return refusal_of_bytes(m.bytes(), options);
  }

 private:
  TemporaryFolder folder_;
};

/// The outputs of a model for these inputs, by the interpreter.
inline std::vector<TensorData> tensors_of(TfliteModel& m, const std::vector<TensorData>& inputs) {
  return interpret(TfliteFolder().import(m).graph, inputs, &evaluate);
}
/// All their elements.
inline std::vector<double> outputs_of(TfliteModel& m, const std::vector<TensorData>& inputs) {
  std::vector<double> all;
  for (const TensorData& t : tensors_of(m, inputs))
    for (const double v : t.values()) all.push_back(v);
  return all;
}

/// Each element is that of `wanted`, up to roundings of f32.
MATCHER_P(Near, wanted, "") {
  return testing::ExplainMatchResult(testing::Pointwise(testing::DoubleNear(2e-5), wanted), arg, result_listener);
}

}  // namespace hone::tflite
