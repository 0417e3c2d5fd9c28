// ONNX models made by hand.
#pragma once

#include <concepts>
#include <string>
#include <vector>

#include "compiler/frontend/onnx/onnx.pb.h"

namespace hone {

inline constexpr int kFloat = 1, kInt64 = 7, kBool = 9;  // ONNX's numbers of types

inline onnx::Node* add_node(google::protobuf::RepeatedPtrField<onnx::Node>* nodes, const std::string& op,
                            const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  onnx::Node* n = nodes->Add();
  n->set_op_type(op);
  n->set_name(op + "_" + (outputs.empty() ? "" : outputs[0]));
  for (const std::string& name : inputs) n->add_input(name);
  for (const std::string& name : outputs) n->add_output(name);
  return n;
}

/// A dimension of an input: a number, or a name.
struct TestDim {
  template <std::integral T>
  TestDim(T n) : number(n) {}
  TestDim(const char* s) : number(0), symbol(s) {}
  int64_t number;
  std::string symbol;
};

class TestModel {
 public:
  explicit TestModel(int64_t opset = 13) { model.add_opset_import()->set_version(opset); }

  TestModel& input(const std::string& name, const std::vector<TestDim>& dims, int type = kFloat) {
    onnx::ValueInfo* v = graph()->add_input();
    v->set_name(name);
    onnx::TensorTypeInfo* info = v->mutable_type()->mutable_tensor_type();
    info->set_elem_type(type);
    info->mutable_shape();
    for (const TestDim& d : dims) {
      onnx::Dimension* dim = info->mutable_shape()->add_dim();
      if (d.symbol.empty())
        dim->set_dim_value(d.number);
      else
        dim->set_dim_param(d.symbol);
    }
    return *this;
  }
  TestModel& output(const std::string& name) {
    graph()->add_output()->set_name(name);
    return *this;
  }
  TestModel& node(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs) {
    last = add_node(graph()->mutable_node(), op, inputs, outputs);
    return *this;
  }
  /// An attribute of the last node.
  TestModel& ints(const std::string& name, const std::vector<int64_t>& values) {
    onnx::Attribute* a = last->add_attribute();
    a->set_name(name);
    a->set_type(7);
    for (const int64_t v : values) a->add_ints(v);
    return *this;
  }
  TestModel& number(const std::string& name, int64_t value) {
    onnx::Attribute* a = last->add_attribute();
    a->set_name(name);
    a->set_type(2);
    a->set_i(value);
    return *this;
  }
  TestModel& real(const std::string& name, float value) {
    onnx::Attribute* a = last->add_attribute();
    a->set_name(name);
    a->set_type(1);
    a->set_f(value);
    return *this;
  }
  TestModel& text(const std::string& name, const std::string& value) {
    onnx::Attribute* a = last->add_attribute();
    a->set_name(name);
    a->set_type(3);
    a->set_s(value);
    return *this;
  }
  /// A graph in the last node.
  onnx::Graph* body(const std::string& name) {
    onnx::Attribute* a = last->add_attribute();
    a->set_name(name);
    a->set_type(5);
    return a->mutable_g();
  }
  onnx::Tensor* tensor(const std::string& name, const std::vector<int64_t>& dims, int type = kFloat) {
    onnx::Tensor* t = graph()->add_initializer();
    t->set_name(name);
    t->set_data_type(type);
    for (const int64_t d : dims) t->add_dims(d);
    return t;
  }
  TestModel& floats(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
    onnx::Tensor* t = tensor(name, dims);
    for (const float v : values) t->add_float_data(v);
    return *this;
  }
  TestModel& numbers(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
    onnx::Tensor* t = tensor(name, dims, kInt64);
    for (const int64_t v : values) t->add_int64_data(v);
    return *this;
  }
  onnx::Tensor* external(const std::string& name, const std::vector<int64_t>& dims, const std::string& location,
                         const std::string& offset = "", const std::string& length = "") {
    onnx::Tensor* t = tensor(name, dims);
    t->set_data_location(1);
    const auto add = [&](const char* key, const std::string& value) {
      if (value.empty()) return;
      onnx::Entry* e = t->add_external_data();
      e->set_key(key);
      e->set_value(value);
    };
    add("location", location);
    add("offset", offset);
    add("length", length);
    return t;
  }
  onnx::Graph* graph() { return model.mutable_graph(); }

  onnx::Model model;
  onnx::Node* last = nullptr;  ///< the node added last
};

}  // namespace hone
