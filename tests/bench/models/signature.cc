#include "tests/bench/models/signature.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "base/check.h"
#include "base/exit_code.h"
#include "compiler/frontend/onnx/file/element_type.h"
#include "compiler/frontend/onnx/file/model_file.h"

namespace hone::bench {
namespace {

namespace fs = std::filesystem;

bool is_quantised(const std::string& op) {
  return op.find("Quantize") != std::string::npos || op.find("Integer") != std::string::npos ||
         op.rfind("QLinear", 0) == 0;
}

std::string group_of(const onnx::Model& model) {
  int convolutions = 0, products = 0;
  bool quantised = false;
  const auto count = [&](const auto& nodes) {
    for (const onnx::Node& n : nodes) {
      quantised = quantised || is_quantised(n.op_type());
      convolutions += n.op_type() == "Conv" || n.op_type() == "ConvTranspose";
      products += n.op_type() == "MatMul" || n.op_type() == "Gemm";
    }
  };
  count(model.graph().node());
  for (const onnx::Function& f : model.functions()) count(f.node());
  if (quantised) return "quantised";
  if (convolutions == 0 && products == 0) return "other";
  return convolutions >= products ? "convolutions" : "products";
}

int64_t bytes_of(const std::string& file, const onnx::Model& model) {
  std::set<fs::path> files = {file};
  for (const onnx::Tensor& t : model.graph().initializer())
    for (const onnx::Entry& e : t.external_data())
      if (e.key() == "location") files.insert(fs::path(file).parent_path() / e.value());
  int64_t bytes = 0;
  std::error_code missing;
  for (const fs::path& f : files)
    if (const auto size = fs::file_size(f, missing); !missing) bytes += static_cast<int64_t>(size);
  return bytes;
}

}  // namespace

StatusOr<Signature> read_signature(const std::string& file) {
  try {
    const onnx::ModelFile read = onnx::read_model(file);
    const onnx::Graph& graph = read.model.graph();
    std::set<std::string> values;
    for (const onnx::Tensor& t : graph.initializer()) values.insert(t.name());
    Signature s{{}, group_of(read.model), bytes_of(file, read.model)};
    for (const onnx::ValueInfo& v : graph.input()) {
      if (values.count(v.name())) continue;
      OnnxInput input{v.name(), v.type().tensor_type().elem_type(), {}};
      for (const onnx::Dimension& d : v.type().tensor_type().shape().dim())
        input.dims.push_back({d.dim_value() > 0 ? d.dim_value() : 0, d.dim_param()});
      s.inputs.push_back(std::move(input));
    }
    return s;
  } catch (const UserError& e) {
    return usage_error(e.what());
  }
}

StatusOr<int> onnx_type_of(DType t) {
  for (int number = 1; number <= 16; ++number) {
    try {
      if (onnx::dtype_of(number, "") == t) return number;
    } catch (const UserError&) {
      // A number of a type that Hone does not have.
    }
  }
  return usage_error(fmt::format("ONNX has no element type {}", to_string(t)));
}

}  // namespace hone::bench
