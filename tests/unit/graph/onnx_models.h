// ONNX models written to files and imported.
#pragma once

#include <fstream>
#include <string>

#include "compiler/frontend/onnx/import.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"
#include "tests/unit/graph/read_graph.h"

namespace hone {

/// A folder with a model in it.
class ModelFolder {
 public:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  OnnxModel import(const std::string& bytes, const OnnxOptions& options = {}) const {
    write("m.onnx", bytes);
    return import_onnx(path("m.onnx"), test_operators(), options);
  }
  OnnxModel import(const TestModel& m, const OnnxOptions& options = {}) const {
    OnnxModel out = import(m.model.SerializeAsString(), options);
    verify(out.graph);
    return out;
  }
  /// What it is refused with, without the path at its beginning; "accepted" where it is not. Several lines only where
  /// several nodes are named.
  template <class M>
  std::string refusal(const M& m, const OnnxOptions& options = {}) const {
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

}  // namespace hone
