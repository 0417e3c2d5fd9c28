#include "compiler/frontend/onnx/node/own_node.h"

#include <fmt/format.h>

#include "base/text.h"
#include "compiler/frontend/onnx/file/element_type.h"

namespace hone::onnx {
namespace {

// As ONNX numbers them.
enum AttributeKind : int32_t { kNotSaid = 0, kFloat = 1, kInt = 2, kText = 3, kFloats = 6, kInts = 7, kTexts = 8 };
constexpr size_t kMostOfShownName = 100;

// A file may leave the kind out.
AttributeKind attribute_kind_of(const Attribute& a) {
  if (a.type() != kNotSaid) return static_cast<AttributeKind>(a.type());
  if (a.has_f()) return kFloat;
  if (a.has_i()) return kInt;
  if (a.has_s()) return kText;
  return a.floats_size() > 0 ? kFloats : a.strings_size() > 0 ? kTexts : kInts;
}

Json attribute_value_of(const Attribute& a) {
  Json list = Json::array();
  switch (attribute_kind_of(a)) {
    case kFloat: return static_cast<double>(a.f());
    case kInt: return a.i();
    case kText: return valid_utf8(a.s());
    case kFloats:
      for (const float f : a.floats()) list.push_back(static_cast<double>(f));
      return list;
    case kInts:
      for (const int64_t i : a.ints()) list.push_back(i);
      return list;
    case kTexts:
      for (const std::string& s : a.strings()) list.push_back(valid_utf8(s));
      return list;
    default:
      throw UserError(
          fmt::format("its attribute '{}' is a tensor or a graph; operators of users take numbers, texts and "
                      "lists of these",
                      short_line(a.name(), kMostOfShownName)));
  }
}

}  // namespace

std::string full_name_of(const Node& node) {
  return operator_name(node.domain().empty() ? "ai.onnx" : node.domain(), node.op_type());
}

Json attributes_of(const NodeContext& c) {
  Json out = Json::object();
  for (const Attribute& a : c.node.attribute())
    if (const Attribute* given = c.find(a.name())) out[valid_utf8(a.name())] = attribute_value_of(*given);
  return out;
}

void add_defaults(const Function& f, Json* attributes) {
  for (const Attribute& a : f.attribute_proto())
    if (!attributes->contains(a.name())) (*attributes)[valid_utf8(a.name())] = attribute_value_of(a);
}

void check_declared(const ValueInfo& declared, const TensorType& type, bool checks_extents) {
  const TensorTypeInfo& t = declared.type().tensor_type();
  const std::string name = short_line(declared.name(), kMostOfShownName);
  if (t.elem_type() != 0) {
    const DType said = element_type_of(t.elem_type(), "").dtype;
    HONE_USER_CHECK(said == type.dtype) << "its definition gives " << to_string(type) << ", and the model declares '"
                                        << name << "' as " << to_string(said);
  }
  if (!t.has_shape()) return;
  HONE_USER_CHECK(t.shape().dim_size() == static_cast<int>(type.shape.size()))
      << "its definition gives " << to_string(type) << ", and the model declares '" << name << "' with "
      << t.shape().dim_size() << " axes";
  for (int d = 0; checks_extents && d < t.shape().dim_size(); ++d)
    HONE_USER_CHECK(!t.shape().dim(d).has_dim_value() ||
                    t.shape().dim(d).dim_value() == type.shape[static_cast<size_t>(d)])
        << "its definition gives " << to_string(type) << ", and the model declares '" << name << "' with "
        << t.shape().dim(d).dim_value() << " along axis " << d;
}

}  // namespace hone::onnx
