#include "compiler/model/metadata_json.h"

#include <cstdint>

namespace hone {
namespace {

// The members of both directions, each once.
template <class Metadata, class F>
void each_text(Metadata& m, const F& f) {
  f("name", m.name), f("description", m.description), f("version", m.version), f("author", m.author);
  f("license", m.license);
}
template <class Metadata, class F>
void each_tensor_text(Metadata& m, const F& f) {
  f("name", m.name), f("description", m.description), f("content", m.content), f("colors", m.colors);
}
template <class Metadata, class F>
void each_tensor_numbers(Metadata& m, const F& f) {
  f("mean", m.mean), f("std", m.std), f("min", m.min), f("max", m.max);
}

OrderedJson tensor_json(const TensorMetadata& m) {
  OrderedJson j = OrderedJson::object();
  const auto add = [&](const char* key, const auto& value) {
    if (!value.empty()) j[key] = value;
  };
  each_tensor_text(m, add);
  each_tensor_numbers(m, add);
  if (m.least_score) j["least_score"] = *m.least_score;
  add("labels", m.labels.words);
  if (m.labels.axis) j["labels_axis"] = *m.labels.axis;
  return j;
}

TensorMetadata tensor_from(const Json& j) {
  TensorMetadata m;
  const auto get = [&](const char* key, auto& value) {
    if (const auto found = j.find(key); found != j.end()) found->get_to(value);
  };
  each_tensor_text(m, get);
  each_tensor_numbers(m, get);
  if (j.contains("least_score")) m.least_score = j.at("least_score").get<double>();
  get("labels", m.labels.words);
  if (j.contains("labels_axis")) m.labels.axis = j.at("labels_axis").get<size_t>();
  return m;
}

}  // namespace

OrderedJson metadata_json(const ModelMetadata& metadata, const std::set<std::string>& ports) {
  OrderedJson j;
  each_text(metadata, [&](const char* key, const std::string& value) {
    if (!value.empty()) j[key] = value;
  });
  const auto add = [&](const char* key, const std::map<std::string, TensorMetadata>& tensors) {
    for (const auto& [name, tensor] : tensors)
      if (ports.contains(name)) j[key][name] = tensor_json(tensor);
  };
  add("inputs", metadata.inputs);
  add("outputs", metadata.outputs);
  return j;
}

ModelMetadata metadata_from(const Json& j) {
  ModelMetadata m;
  each_text(m, [&](const char* key, std::string& value) { value = j.value(key, ""); });
  const auto get = [&](const char* key, std::map<std::string, TensorMetadata>* tensors) {
    if (const auto found = j.find(key); found != j.end())
      for (const auto& [name, tensor] : found->items()) tensors->emplace(name, tensor_from(tensor));
  };
  get("inputs", &m.inputs);
  get("outputs", &m.outputs);
  return m;
}

}  // namespace hone
