#include "compiler/model/variant.h"

#include <numeric>

namespace hone {

VariantBuilder::VariantBuilder(const ModelVariant& variant, const std::string& name, const ChooseConfig& choose,
                               const SharedPackings* packings)
    : v_(variant), g_(*variant.graph), storage_(g_), places_(g_.values.size()) {
  place_tensors();
  layers_ = make_layers(g_, v_.target, name, storage_, alignments(), choose, packings);
}

const Place* VariantBuilder::tensor_of(ValueId v) const {
  const auto& place = places_[static_cast<size_t>(storage_.root(v))];
  return place ? &*place : nullptr;
}

// Tensors of the caller are aligned as their elements are, the arena's buffers like cache lines, and parts as their
// offsets say.
std::vector<int64_t> VariantBuilder::alignments() const {
  std::vector<int64_t> out;
  for (size_t v = 0; v < g_.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    out.push_back(tensor_of(id) ? g_.value(id).type.dtype.bytes() : std::gcd(kArenaAlignment, storage_.offset(id)));
  }
  return out;
}

Place VariantBuilder::place_of(ValueId v) const {
  Place place = *places_[static_cast<size_t>(storage_.root(v))];
  place.offset += storage_.offset(v);
  return place;
}

void VariantBuilder::place_tensors() {
  size_t tensor = 0;
  for (const Port& p : g_.inputs) {
    if (p.value != kNoValue) places_[static_cast<size_t>(p.value)] = Place{Place::In::kTensor, 0, tensor};
    ++tensor;
  }
  for (const Port& p : g_.outputs) {
    if (p.value != kNoValue) {
      const ValueId root = storage_.root(p.value);
      if (g_.is_constant(root) || places_[static_cast<size_t>(root)] ||
          bytes_of(g_.value(root).type) != bytes_of(p.type))
        copies_.push_back({p.value, tensor});
      else
        places_[static_cast<size_t>(root)] = Place{Place::In::kTensor, 0, tensor};
    }
    ++tensor;
  }
}

// Buffers: each value that lies in no tensor of the caller, then the workspace of each call.
void VariantBuilder::plan() {
  std::vector<ArenaBuffer> buffers;
  std::vector<ValueId> values;
  std::vector<int> buffer_of(g_.values.size(), -1);
  const int calls = static_cast<int>(layers_.calls.size());
  const auto touch = [&](ValueId v, int step) {
    const ValueId root = storage_.root(v);
    if (g_.is_constant(root) || tensor_of(root)) return;
    int& b = buffer_of[static_cast<size_t>(root)];
    if (b < 0) {
      b = static_cast<int>(buffers.size());
      buffers.push_back({bytes_of(g_.value(root).type), step, step});
      values.push_back(root);
    }
    buffers[static_cast<size_t>(b)].last = step;
  };
  for (int c = 0; c < calls; ++c) {
    const Node& n = g_.nodes[static_cast<size_t>(layers_.calls[static_cast<size_t>(c)].node)];
    for (const ValueId v : n.inputs) touch(v, c);
    for (const ValueId v : n.outputs) touch(v, c);
  }
  for (const OutputCopy& copy : copies_) touch(copy.value, calls);
  for (int c = 0; c < calls; ++c)
    buffers.push_back({layers_.kernels[layers_.calls[static_cast<size_t>(c)].kernel].module.workspace_bytes, c, c});
  memory_ = plan_memory(buffers);
  for (size_t b = 0; b < values.size(); ++b)
    places_[static_cast<size_t>(values[b])] = Place{Place::In::kArena, memory_.offsets[b], 0};
  workspaces_.assign(memory_.offsets.begin() + static_cast<std::ptrdiff_t>(values.size()), memory_.offsets.end());
}

void VariantBuilder::make_steps(WeightsPacker& packer) {
  plan();
  const PackedArguments packed = packer.pack(g_, layers_);
  for (size_t c = 0; c < layers_.calls.size(); ++c) {
    const Layer& call = layers_.calls[c];
    const Node& n = g_.nodes[static_cast<size_t>(call.node)];
    ModelStep step{layers_.kernels[call.kernel].symbol, {}, workspaces_[c], 0};
    for (size_t p = 0; p < n.inputs.size() + n.outputs.size(); ++p) {
      for (const int64_t offset : packed[c][p]) step.arguments.push_back({Place::In::kWeights, offset, 0});
      if (!packed[c][p].empty()) continue;
      const ValueId v = p < n.inputs.size() ? n.inputs[p] : n.outputs[p - n.inputs.size()];
      step.arguments.push_back(place_of(v));
    }
    steps_.push_back(std::move(step));
  }
}

void VariantBuilder::make_copies(WeightsPacker& packer) {
  for (const auto& [value, tensor] : copies_) {
    const ValueId root = storage_.root(value);
    const Place from = g_.is_constant(root)
                           ? Place{Place::In::kWeights, packer.keep(g_.value(root).constant->bytes()), 0}
                           : place_of(value);
    steps_.push_back({"", {from, {Place::In::kTensor, 0, tensor}}, 0, bytes_of(g_.value(value).type)});
  }
}

}  // namespace hone
