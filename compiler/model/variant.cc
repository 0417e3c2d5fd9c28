#include "compiler/model/variant.h"

#include <algorithm>
#include <numeric>

#include "compiler/arith/in_place.h"
#include "compiler/model/plan/grain.h"
#include "compiler/model/plan/regions.h"

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
    : v_(variant),
      g_(*variant.graph),
      storage_(g_, variant.growth, v_.target.is_gpu() ? kGpuAlignment : 1),
      slots_(g_.values.size()) {
  slot_tensors();
  layers_ = make_layers(g_, v_.target, name, storage_, alignments(), choose, packings);
  find_rows();
  // Not around caches: a new row is written before the first of all layers that read it.
  if (!v_.growth && !v_.target.is_gpu()) share_regions();
  plan();
}

void VariantBuilder::share_regions() {
  ParallelLoops loops(layers_, v_.target.threads);
  const std::vector<bool> divided = worth_threads(g_, storage_, layers_, loops, v_.target);
  for (size_t c = 0; c < divided.size(); ++c) layers_.calls[c].is_divided = divided[c];
  int number = 0;
  for (const SharedRegion& region : find_regions(g_, storage_, layers_, loops, v_.target)) {
    ++number;
    for (size_t c = region.begin; c < region.end; ++c) layers_.calls[c].region = number;
    for (size_t t = 0; t < region.threads.size(); ++t)
      for (const Share& share : region.threads[t])
        layers_.calls[share.call].shares.push_back({static_cast<int>(t), share.iterations});
  }
}

const TensorSlot* VariantBuilder::tensor_of(ValueId v) const {
  const auto& slot = slots_[static_cast<size_t>(storage_.root(v))];
  return slot ? &*slot : nullptr;
}

// Tensors of the caller are aligned as their elements are, the arena's buffers like cache lines, and parts as their
// offsets say.
std::vector<int64_t> VariantBuilder::alignments() const {
  std::vector<int64_t> out;
  for (size_t v = 0; v < g_.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    if (v_.target.is_gpu())  // the device's buffers, and parts of them
      out.push_back(kArenaAlignment);
    else
      out.push_back(tensor_of(id) ? g_.value(id).type.dtype.bytes() : std::gcd(kArenaAlignment, storage_.offset(id)));
  }
  return out;
}

TensorSlot VariantBuilder::slot_of(ValueId v) const {
  TensorSlot slot = *slots_[static_cast<size_t>(storage_.root(v))];
  slot.offset += storage_.offset(v);
  return slot;
}

void VariantBuilder::slot_tensors() {
  size_t tensor = 0;
  for (; tensor < caller_inputs(g_, v_.growth); ++tensor)
    if (const ValueId v = g_.inputs[tensor].value; v != kNoValue)
      slots_[static_cast<size_t>(v)] = TensorSlot{TensorSlot::In::kTensor, 0, tensor};
  if (v_.growth) slots_[static_cast<size_t>(count_of(g_, *v_.growth))] = count_slot();
  for (const Port& p : g_.outputs) {
    if (p.value != kNoValue) {
      const ValueId root = storage_.root(p.value);
      if (g_.is_constant(root) || slots_[static_cast<size_t>(root)] ||
          bytes_of(g_.value(root).type) != bytes_of(p.type))
        copies_.push_back({p.value, tensor});
      else
        slots_[static_cast<size_t>(root)] = TensorSlot{TensorSlot::In::kTensor, 0, tensor};
    }
    ++tensor;
  }
}

// The number of rows is in the first cache's shape.
TensorSlot VariantBuilder::count_slot() const {
  const Cache& c = v_.growth->caches[0];
  return {TensorSlot::In::kExtent, static_cast<int64_t>(c.axis * sizeof(int64_t)), c.input};
}

// A row is written in front of the first layer that reads the cache.
void VariantBuilder::find_rows() {
  if (!v_.growth) return;
  const int calls = static_cast<int>(layers_.calls.size());
  row_written_.assign(v_.growth->caches.size(), calls);
  for (int c = calls; c-- > 0;)
    for (const ValueId v : node_of(c).inputs)
      if (const auto cache = cache_that_is(g_, *v_.growth, storage_.root(v))) row_written_[*cache] = c;
}

ValueId VariantBuilder::new_row(size_t cache) const {
  for (const Node& n : g_.nodes)
    if (cache_made_by(g_, v_.growth, n) == cache) return n.inputs[1];
  HONE_ICHECK(false) << "no node makes cache " << cache;
  return kNoValue;
}

NewRow VariantBuilder::row_of(size_t cache) const {
  const Cache& c = v_.growth->caches[cache];
  const TensorType& type = g_.outputs[c.output].type;
  NewRow row{
      slot_of(new_row(cache)), {TensorSlot::In::kTensor, 0, caller_inputs(g_, v_.growth) + c.output}, count_slot()};
  row.bytes = type.dtype.bytes();
  for (size_t d = c.axis + 1; d < type.shape.size(); ++d) row.bytes *= type.shape[d];
  row.matrix_bytes = row.bytes * type.shape[c.axis];
  for (size_t d = 0; d < c.axis; ++d) row.matrices *= type.shape[d];
  return row;
}

// Lets a call write its output over an input: a whole buffer of the arena whose last reader is the call (`last_use`:
// the last call that reads each root), and from which the kernel reads each element only where it writes it. Returns
// that buffer's root; kNoValue: there is none.
ValueId VariantBuilder::overwrite_input(size_t call, const std::vector<int>& last_use) {
  Kernel& kernel = layers_.kernels[layers_.calls[call].kernel];
  const Node& n = node_of(static_cast<int>(call));
  const ValueId out = n.outputs[0];
  // The order in which a GPU's threads read and write is not proved, so an input is never overwritten there.
  if (v_.target.is_gpu()) return kNoValue;
  if (kernel.host || n.outputs.size() != 1 || tensor_of(out) || storage_.root(out) != out) return kNoValue;
  for (size_t p = n.inputs.size(); p-- > 0;) {
    const ValueId root = storage_.root(n.inputs[p]);
    const bool is_read_once =
        std::count_if(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return storage_.root(v) == root; }) == 1;
    if (g_.is_constant(root) || tensor_of(root) || last_use[static_cast<size_t>(root)] != static_cast<int>(call) ||
        !is_read_once || storage_.offset(n.inputs[p]) != 0 ||
        bytes_of(g_.value(root).type) != bytes_of(g_.value(out).type))
      continue;
    if (is_written_beside(static_cast<int>(call), root) && !reads_each_element(n, p)) continue;
    const auto in_place = arguments_of(kernel.module, p, n.inputs.size());
    if (!in_place || (kernel.in_place && *kernel.in_place != *in_place)) continue;
    if (!kernel.in_place && !may_run_in_place(kernel.module, in_place->input, in_place->output)) continue;
    kernel.in_place = in_place;
    layers_.calls[call].in_place = p;
    return root;
  }
  return kNoValue;
}

// Whether another call of the region, perhaps on another thread, writes elements of the value. Only elements that this
// call reads are known to be there before it.
bool VariantBuilder::is_written_beside(int call, ValueId root) const {
  if (region_of(call) == 0) return false;
  const auto writes = [&](int c) {
    const auto& outputs = node_of(c).outputs;
    return std::any_of(outputs.begin(), outputs.end(), [&](ValueId v) { return storage_.root(v) == root; });
  };
  for (int c = call - 1; c >= 0 && region_of(c) == region_of(call); --c)
    if (writes(c)) return true;
  return false;
}

bool VariantBuilder::reads_each_element(const Node& n, size_t input) const {
  return is<ops::Elementwise>(n) && g_.value(n.inputs[input]).type.shape == g_.value(n.outputs[0]).type.shape;
}

// Buffers: each value that lies in no tensor of the caller, then the workspace of each call.
void VariantBuilder::plan() {
  std::vector<ArenaBuffer> buffers;
  // So that the plan's offsets, which are sums of these, are where a GPU's buffers may begin.
  const auto room = [&](int64_t bytes) {
    const int64_t unit = v_.target.is_gpu() ? kGpuAlignment : 1;
    return (bytes + unit - 1) / unit * unit;
  };
  std::vector<int> buffer_of(g_.values.size(), -1);
  const int calls = static_cast<int>(layers_.calls.size());
  // The calls of a region happen at one time, and none may overwrite data that another of them reads; data that one of
  // them wrote is on the thread that reads it.
  const auto when = [&](int c) {
    int first = c;
    while (first > 0 && region_of(c) > 0 && region_of(first - 1) == region_of(c)) --first;
    return first;
  };
  std::vector<int> last_use(g_.values.size(), -1), last_read = last_use;
  for (int c = 0; c < calls; ++c) {
    for (const ValueId v : node_of(c).inputs) {
      const auto root = static_cast<size_t>(storage_.root(v));
      const int before = last_read[root];
      const bool is_shared =
          before >= 0 && before != c && region_of(c) > 0 && (before == calls || region_of(before) == region_of(c));
      last_use[root] = last_read[root] = is_shared ? calls : c;
    }
    for (const ValueId v : node_of(c).outputs) {
      int& last = last_use[static_cast<size_t>(storage_.root(v))];
      last = std::max(last, c);
    }
  }
  for (const OutputCopy& copy : copies_) last_use[static_cast<size_t>(storage_.root(copy.value))] = calls;
  for (size_t k = 0; k < row_written_.size(); ++k) {
    int& last = last_use[static_cast<size_t>(storage_.root(new_row(k)))];
    last = std::max(last, row_written_[k]);
  }
  const auto touch = [&](ValueId v, int step) {
    const ValueId root = storage_.root(v);
    if (g_.is_constant(root) || tensor_of(root)) return;
    int& b = buffer_of[static_cast<size_t>(root)];
    if (b < 0) {
      b = static_cast<int>(buffers.size());
      buffers.push_back({room(bytes_of(g_.value(root).type)), step, step});
    }
    buffers[static_cast<size_t>(b)].last = step;
  };
  for (int c = 0; c < calls; ++c) {
    const Node& n = node_of(c);
    for (size_t k = 0; k < row_written_.size(); ++k)
      if (row_written_[k] == c) touch(new_row(k), c);
    for (const ValueId v : n.inputs) touch(v, when(c));
    if (const ValueId root = overwrite_input(static_cast<size_t>(c), last_use); root != kNoValue)
      buffer_of[static_cast<size_t>(n.outputs[0])] = buffer_of[static_cast<size_t>(root)];
    for (const ValueId v : n.outputs) touch(v, when(c));
  }
  for (const OutputCopy& copy : copies_) touch(copy.value, calls);
  for (size_t k = 0; k < row_written_.size(); ++k)
    if (row_written_[k] == calls) touch(new_row(k), calls);
  for (int c = 0; c < calls; ++c)
    buffers.push_back(
        {room(layers_.kernels[layers_.calls[static_cast<size_t>(c)].kernel].module.workspace_bytes), when(c), when(c)});
  memory_ = plan_memory(buffers);
  for (size_t v = 0; v < buffer_of.size(); ++v)
    if (buffer_of[v] >= 0)
      slots_[v] = TensorSlot{TensorSlot::In::kArena, memory_.offsets[static_cast<size_t>(buffer_of[v])], 0};
  workspaces_.assign(memory_.offsets.end() - calls, memory_.offsets.end());
  keep_plan(buffers, buffer_of);
}

// For those who want to see the plan. The last buffers are the calls' workspaces.
void VariantBuilder::keep_plan(const std::vector<ArenaBuffer>& buffers, const std::vector<int>& buffer_of) {
  std::vector<std::vector<ValueId>> values(buffers.size());
  for (size_t v = 0; v < buffer_of.size(); ++v)
    if (buffer_of[v] >= 0) values[static_cast<size_t>(buffer_of[v])].push_back(static_cast<ValueId>(v));
  const size_t of_values = buffers.size() - layers_.calls.size();
  for (size_t b = 0; b < buffers.size(); ++b)
    if (buffers[b].bytes > 0)
      planned_.push_back({buffers[b], memory_.offsets[b], values[b], b < of_values ? 0 : b - of_values});
}

void VariantBuilder::make_steps(WeightsPacker& packer) {
  const PackedArguments packed = packer.pack(g_, layers_);
  for (size_t c = 0; c < layers_.calls.size(); ++c) {
    const Layer& call = layers_.calls[c];
    const Node& n = g_.nodes[call.node];
    ModelStep step{
        layers_.kernels[call.kernel].symbol, {}, workspaces_[c], 0, {}, !call.is_divided, call.region, call.shares};
    for (size_t p = 0; p < n.inputs.size() + n.outputs.size(); ++p) {
      for (const int64_t offset : packed[c][p]) step.arguments.push_back({TensorSlot::In::kWeights, offset, 0});
      if (!packed[c][p].empty()) continue;
      const ValueId v = p < n.inputs.size() ? n.inputs[p] : n.outputs[p - n.inputs.size()];
      step.arguments.push_back(slot_of(v));
    }
    for (size_t k = 0; k < row_written_.size(); ++k)
      if (row_written_[k] == static_cast<int>(c)) step.rows.push_back(row_of(k));
    steps_.push_back(std::move(step));
  }
}

void VariantBuilder::make_copies(WeightsPacker& packer) {
  for (const auto& [value, tensor] : copies_) {
    const ValueId root = storage_.root(value);
    const TensorSlot from = g_.is_constant(root)
                                ? TensorSlot{TensorSlot::In::kWeights, packer.keep(g_.value(root).constant->bytes()), 0}
                                : slot_of(value);
    steps_.push_back({"", {from, {TensorSlot::In::kTensor, 0, tensor}}, 0, bytes_of(g_.value(value).type)});
  }
  ModelStep rest;
  for (size_t k = 0; k < row_written_.size(); ++k)
    if (row_written_[k] == static_cast<int>(layers_.calls.size())) rest.rows.push_back(row_of(k));
  if (!rest.rows.empty()) steps_.push_back(std::move(rest));
}

}  // namespace hone
