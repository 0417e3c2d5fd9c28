#include "compiler/model/variant.h"

#include <algorithm>
#include <numeric>

#include "compiler/arith/in_place.h"
#include "compiler/model/side_by_side.h"

namespace hone {
namespace {

// The kernel arguments that an input and the output, parameters by number, are. Nothing where the input is several.
std::optional<InPlace> arguments_of(const Module& m, size_t input, size_t output) {
  InPlace out;
  for (size_t p = 0; p < output; ++p) {
    const size_t arguments = kernel_arguments(m, p).size();
    if (p == input && arguments != 1) return std::nullopt;
    if (p < input) out.input += arguments;
    out.output += arguments;
  }
  return out;
}

}  // namespace

VariantBuilder::VariantBuilder(const ModelVariant& variant, const std::string& name, const ChooseConfig& choose,
                               const SharedPackings* packings)
    : v_(variant), g_(*variant.graph), storage_(g_), places_(g_.values.size()) {
  place_tensors();
  layers_ = make_layers(g_, v_.target, name, storage_, alignments(), choose, packings);
  int region = 0;
  for (const SideBySide& together : side_by_side(g_, storage_, layers_, v_.target.threads)) {
    ++region;
    for (size_t lane = 0; lane < together.lanes.size(); ++lane)
      for (const size_t c : together.lanes[lane])
        layers_.calls[c].region = region, layers_.calls[c].lane = static_cast<int>(lane);
  }
  plan();
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

// Lets a call write its output over an input: a whole buffer of the arena that nobody needs afterwards (`last_use`: the
// last call that does, by root), and of which the kernel reads each element only where it writes it. Returns that
// buffer's root; kNoValue: there is none.
ValueId VariantBuilder::overwrite_input(size_t call, const std::vector<int>& last_use) {
  Kernel& kernel = layers_.kernels[layers_.calls[call].kernel];
  const Node& n = node_of(static_cast<int>(call));
  const ValueId out = n.outputs[0];
  if (n.outputs.size() != 1 || tensor_of(out) || storage_.root(out) != out) return kNoValue;
  for (size_t p = n.inputs.size(); p-- > 0;) {
    const ValueId root = storage_.root(n.inputs[p]);
    const bool is_read_once =
        std::count_if(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return storage_.root(v) == root; }) == 1;
    if (g_.is_constant(root) || tensor_of(root) || last_use[static_cast<size_t>(root)] != static_cast<int>(call) ||
        !is_read_once || storage_.offset(n.inputs[p]) != 0 ||
        bytes_of(g_.value(root).type) != bytes_of(g_.value(out).type))
      continue;
    const auto in_place = arguments_of(kernel.module, p, n.inputs.size());
    if (!in_place || (kernel.in_place && *kernel.in_place != *in_place)) continue;
    if (!kernel.in_place && !may_run_in_place(kernel.module, in_place->input, in_place->output)) continue;
    kernel.in_place = in_place;
    layers_.calls[call].in_place = p;
    return root;
  }
  return kNoValue;
}

// Buffers: each value that lies in no tensor of the caller, then the workspace of each call.
void VariantBuilder::plan() {
  std::vector<ArenaBuffer> buffers;
  std::vector<int> buffer_of(g_.values.size(), -1);
  const int calls = static_cast<int>(layers_.calls.size());
  // Calls side by side happen at one time, and none may overwrite what another of them reads.
  const auto when = [&](int c) {
    int first = c;
    while (first > 0 && region_of(c) > 0 && region_of(first - 1) == region_of(c)) --first;
    return first;
  };
  std::vector<int> last_use(g_.values.size(), -1);
  for (int c = 0; c < calls; ++c)
    for (const auto* values_of : {&node_of(c).inputs, &node_of(c).outputs})
      for (const ValueId v : *values_of) {
        int& last = last_use[static_cast<size_t>(storage_.root(v))];
        const bool is_shared =
            last >= 0 && last != c && region_of(c) > 0 && (last == calls || region_of(last) == region_of(c));
        last = is_shared ? calls : c;
      }
  for (const OutputCopy& copy : copies_) last_use[static_cast<size_t>(storage_.root(copy.value))] = calls;
  const auto touch = [&](ValueId v, int step) {
    const ValueId root = storage_.root(v);
    if (g_.is_constant(root) || tensor_of(root)) return;
    int& b = buffer_of[static_cast<size_t>(root)];
    if (b < 0) {
      b = static_cast<int>(buffers.size());
      buffers.push_back({bytes_of(g_.value(root).type), step, step});
    }
    buffers[static_cast<size_t>(b)].last = step;
  };
  for (int c = 0; c < calls; ++c) {
    const Node& n = node_of(c);
    for (const ValueId v : n.inputs) touch(v, when(c));
    if (const ValueId root = overwrite_input(static_cast<size_t>(c), last_use); root != kNoValue)
      buffer_of[static_cast<size_t>(n.outputs[0])] = buffer_of[static_cast<size_t>(root)];
    for (const ValueId v : n.outputs) touch(v, when(c));
  }
  for (const OutputCopy& copy : copies_) touch(copy.value, calls);
  for (int c = 0; c < calls; ++c)
    buffers.push_back(
        {layers_.kernels[layers_.calls[static_cast<size_t>(c)].kernel].module.workspace_bytes, when(c), when(c)});
  memory_ = plan_memory(buffers);
  for (size_t v = 0; v < buffer_of.size(); ++v)
    if (buffer_of[v] >= 0) places_[v] = Place{Place::In::kArena, memory_.offsets[static_cast<size_t>(buffer_of[v])], 0};
  workspaces_.assign(memory_.offsets.end() - calls, memory_.offsets.end());
}

void VariantBuilder::make_steps(WeightsPacker& packer) {
  const PackedArguments packed = packer.pack(g_, layers_);
  for (size_t c = 0; c < layers_.calls.size(); ++c) {
    const Layer& call = layers_.calls[c];
    const Node& n = g_.nodes[static_cast<size_t>(call.node)];
    ModelStep step{layers_.kernels[call.kernel].symbol, {}, workspaces_[c], 0, call.region, call.lane};
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
