#include "compiler/frontend/tflite/node/own_node.h"

#include <flatbuffers/flexbuffers.h>

#include <cstring>
#include <vector>

#include "base/text.h"

namespace hone::tflite {
namespace {

constexpr size_t kMostBytesOfOptions = 1 << 16, kMostOfMember = 100;

Json plain_value(const flexbuffers::Reference& v, const std::string& name) {
  if (v.IsBool()) return v.AsBool() ? 1 : 0;
  if (v.IsIntOrUint()) return v.AsInt64();
  if (v.IsFloat()) return v.AsDouble();
  if (v.IsString()) return valid_utf8(v.AsString().str());
  throw UserError("its option '" + short_line(name, kMostOfMember) + "' is no number, text or list of these");
}

Json list_or_value(const flexbuffers::Reference& v, const std::string& name) {
  if (!v.IsTypedVector() && !v.IsFixedTypedVector() && !(v.IsVector() && !v.IsMap())) return plain_value(v, name);
  Json out = Json::array();
  const auto add = [&](const auto& elements) {
    for (size_t i = 0; i < elements.size(); ++i) out.push_back(plain_value(elements[i], name));
  };
  if (v.IsTypedVector())
    add(v.AsTypedVector());
  else if (v.IsFixedTypedVector())
    add(v.AsFixedTypedVector());
  else
    add(v.AsVector());
  return out;
}

}  // namespace

Json attributes_of(const NodeContext& c) {
  Json out = Json::object();
  const auto* options = c.node.custom_options();
  if (!options || options->size() == 0 || options->size() > kMostBytesOfOptions) return out;
  // flexbuffers reads numbers of up to 8 bytes where they lie.
  std::vector<uint64_t> words((options->size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  std::memcpy(words.data(), options->data(), options->size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
  std::vector<uint8_t> seen;  // vectors that others share are looked at once
  if (!flexbuffers::VerifyBuffer(bytes, options->size(), &seen)) return out;
  const flexbuffers::Reference root = flexbuffers::GetRoot(bytes, options->size());
  if (!root.IsMap()) return out;
  const flexbuffers::Map members = root.AsMap();
  const flexbuffers::TypedVector names = members.Keys();
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i].AsKey();
    out[valid_utf8(name)] = list_or_value(members[name.c_str()], name);
  }
  return out;
}

}  // namespace hone::tflite
