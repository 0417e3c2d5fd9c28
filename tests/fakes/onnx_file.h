// ONNX models that tests write.
#pragma once

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "compiler/frontend/onnx/onnx.pb.h"

namespace hone {

class OnnxFile {
 public:
  enum Type : int { kF32 = 1, kU8 = 2, kI64 = 7 };  ///< ONNX's numbers

  OnnxFile() {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(13);
  }

  void input(const std::string& name, const std::vector<int64_t>& shape, Type type = kF32) {
    port(graph().add_input(), name, shape, type);
  }
  void output(const std::string& name, const std::vector<int64_t>& shape, Type type = kF32) {
    port(graph().add_output(), name, shape, type);
  }
  /// A constant of floats in [-1/4, 1/4].
  void weights(const std::string& name, const std::vector<int64_t>& shape) {
    onnx::Tensor* t = graph().add_initializer();
    t->set_name(name);
    t->set_data_type(kF32);
    int64_t count = 1;
    for (const int64_t n : shape) t->add_dims(n), count *= n;
    for (int64_t i = 0; i < count; ++i)
      t->add_float_data(static_cast<float>(std::sin(static_cast<double>(i * 7 + count)) / 4));
  }
  onnx::Node* node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
    onnx::Node* n = graph().add_node();
    n->set_op_type(op);
    n->set_name(output);
    for (const std::string& i : inputs) n->add_input(i);
    n->add_output(output);
    return n;
  }
  static onnx::Node* integer(onnx::Node* n, const std::string& name, int64_t value) {
    onnx::Attribute* a = n->add_attribute();
    a->set_name(name);
    a->set_i(value);
    return n;
  }
  static onnx::Node* integers(onnx::Node* n, const std::string& name, const std::vector<int64_t>& values) {
    onnx::Attribute* a = n->add_attribute();
    a->set_name(name);
    for (const int64_t v : values) a->add_ints(v);
    return n;
  }

  void write(const std::string& path) const {
    std::ofstream out(path, std::ios::binary);
    model_.SerializeToOstream(&out);
  }

 private:
  onnx::Graph& graph() { return *model_.mutable_graph(); }

  static void port(onnx::ValueInfo* v, const std::string& name, const std::vector<int64_t>& shape, Type type) {
    v->set_name(name);
    auto* t = v->mutable_type()->mutable_tensor_type();
    t->set_elem_type(type);
    for (const int64_t n : shape) t->mutable_shape()->add_dim()->set_dim_value(n);
  }

  onnx::Model model_;
};

}  // namespace hone
