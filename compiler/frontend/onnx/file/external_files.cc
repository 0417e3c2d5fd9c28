#include "compiler/frontend/onnx/file/external_files.h"

#include <filesystem>
#include <set>

#include "compiler/frontend/onnx/file/model_file.h"

namespace hone {
namespace {

// Names that tensors give, in bodies of nodes, too. read_model() has bounded how deep these lie.
class ExternalNames {
 public:
  void add(const onnx::Graph& graph) {
    for (const onnx::Tensor& t : graph.initializer()) add(t);
    for (const onnx::Node& n : graph.node()) add(n);
  }
  void add(const onnx::Node& node) {
    for (const onnx::Attribute& a : node.attribute()) {
      if (a.has_t()) add(a.t());
      if (a.has_g()) add(a.g());
    }
  }
  const std::set<std::string>& names() const { return names_; }

 private:
  void add(const onnx::Tensor& t) {
    for (const onnx::Entry& e : t.external_data())
      if (t.data_location() == 1 && e.key() == "location") names_.insert(e.value());
  }
  std::set<std::string> names_;
};

}  // namespace

std::vector<std::string> onnx_files(const std::string& path) {
  const onnx::ModelFile file = onnx::read_model(path);
  ExternalNames found;
  found.add(file.model.graph());
  for (const onnx::Function& f : file.model.functions())
    for (const onnx::Node& n : f.node()) found.add(n);
  std::vector<std::string> paths = {path};
  for (const std::string& name : found.names()) paths.push_back((std::filesystem::path(file.folder) / name).string());
  return paths;
}

}  // namespace hone
