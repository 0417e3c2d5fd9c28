// ONNX models written to files and imported.
#pragma once

#include <fstream>
#include <string>

#include "compiler/frontend/onnx/import.h"
#include "compiler/graph/evaluate.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"
#include "tests/unit/graph/read_graph.h"

namespace hone {
/// The largest number that a file can say.
inline constexpr int64_t kHuge = INT64_MAX;

/// A folder with a model in it.
class ModelFolder {
 public:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  ImportedModel import(const std::string& bytes, const ImportOptions& options = {}) const {
    write("m.onnx", bytes);
    return import_onnx(path("m.onnx"), test_operators(), options);
  }
  ImportedModel import(const TestModel& m, const ImportOptions& options = {}) const {
    ImportedModel out = import(m.model.SerializeAsString(), options);
    verify(out.graph);
    return out;
  }
  /// The message with which it is refused, without the path at its beginning; "accepted" if it is not refused. Several
  /// lines only if they name several nodes.
  template <class M>
  std::string refusal(const M& m, const ImportOptions& options = {}) const {
    try {
      import(m, options);
    } catch (const UserError& e) {
      const std::string text = e.what(), begin = path("m.onnx") + ": ";
      EXPECT_EQ(text.substr(0, begin.size()), begin);
      return text.substr(std::min(begin.size(), text.size()));
    }
    return "accepted";
  }

 private:
  TemporaryFolder folder_;
};

inline TestModel relu() {
  TestModel m;
  m.input("x", {2, 3}).node("Relu", {"x"}, {"y"}).output("y");
  return m;
}

inline std::string floats_of(const std::vector<float>& v) {
  return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)};
}
/// All elements of all outputs.
inline std::vector<double> outputs_of(const ImportedModel& m, const std::vector<TensorData>& inputs) {
  std::vector<double> all;
  for (const TensorData& t : interpret(m.graph, inputs, &evaluate))
    for (const double v : t.values()) all.push_back(v);
  return all;
}

}  // namespace hone
