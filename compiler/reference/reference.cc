#include "compiler/reference/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "compiler/arith/simplify.h"
#include "compiler/lower/plan_storage.h"
#include "compiler/reference/evaluator.h"
#include "compiler/reference/plan.h"

namespace hone {
namespace {

Buffer flat_buffer(const std::string& name, DType t, int64_t count, BufferScope scope = BufferScope::kParam) {
  return make_buffer(name, t, std::vector<int64_t>{count}, scope);
}

// max(0, min(x, n-1)) is x for a valid index; the verifier needs it to know the range of a loaded number.
Expr within(const Expr& x, int64_t n) { return max(make_int(0), min(x, make_int(n - 1))); }

// The coordinates of element number `flat` of `shape`.
std::vector<Expr> coordinates_of(Expr flat, const std::vector<int64_t>& shape) {
  std::vector<Expr> at(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    at[d] = d == 0 ? within(flat, shape[0]) : floor_mod(flat, shape[d]);
    flat = floor_div(flat, shape[d]);
  }
  return at;
}

class Builder {
 public:
  Builder(const Definition& d, const std::vector<int64_t>& counts, int workers, Denormals denormals)
      : d_(d), counts_(counts), denormals_(denormals) {
    module_.workers = workers;
    function_.name = "reference";
  }

  Module build() {
    std::vector<Buffer> samples;
    for (size_t o = 0; o < d_.outputs.size(); ++o)
      samples.push_back(parameter(named("samples", o), ParamRole::kInput, i64, counts_[o]));
    for (const auto& [tensor, role] : d_.inputs) known_.push_back({tensor, input(tensor, role), nullptr, nullptr});
    const std::vector<double> wanted(counts_.begin(), counts_.end());
    for (const StagePlan& p : plan_reference(d_, wanted))
      if (p.is_kept) compute_all(p.stage);
    for (size_t o = 0; o < d_.outputs.size(); ++o) compute_samples(o, samples[o]);
    Stmt body = make_seq(std::move(loops_));
    for (const Buffer& b : kept_) body = make_allocate(b, -1, std::move(body));
    function_.body = simplify(body);
    module_.kernels.push_back(plan_storage(function_, module_.workers, &module_.workspace_bytes));
    return std::move(module_);
  }

 private:
  std::string named(const char* what, size_t output) const {
    return d_.outputs.size() == 1 ? what : fmt::format("{}{}", what, output);
  }

  Buffer parameter(const std::string& name, ParamRole role, DType t, int64_t count) {
    function_.params.push_back(flat_buffer(name, t, count));
    module_.params.push_back({name, role, t, {count}, Layout::identity({count})});
    return function_.params.back();
  }

  Buffer input(const Tensor& t, ParamRole role) {
    function_.params.push_back(flat_buffer(t->name, t->buffer->dtype, element_count(t->shape)));
    const std::vector<int64_t>& shape = t->caller_shape.empty() ? t->shape : t->caller_shape;
    module_.params.push_back({t->name, role, t->buffer->dtype, shape, Layout::identity(shape)});
    return function_.params.back();
  }

  void add_loop(const Var& var, int64_t count, Stmt body, LoopKind kind = LoopKind::kParallel) {
    loops_.push_back(make_for(var, make_int(0), make_int(count), kind, std::move(body)));
  }

  Buffer kept(const TensorNode* t, const char* what, DType type) {
    kept_.push_back(
        flat_buffer(fmt::format("{}_{}", t->name, what), type, element_count(t->shape), BufferScope::kWorkspace));
    return kept_.back();
  }

  void compute_all(const TensorNode* t) {
    if (t->scan_axis) return scan_all(t);
    Evaluator evaluator(known_, d_.factor_error, denormals_);
    const Var e("e");
    const Approximate v = evaluator.computed(t, coordinates_of(e, t->shape));
    FlatTensor all{Tensor(Ref<const TensorNode>(t)), kept(t, "value", v.exact->dtype), nullptr, nullptr};
    evaluator.emit(make_store(all.values, {e}, v.exact));
    const auto keep = [&](const char* what, const Expr& bound, Buffer* to) {
      if (is_zero(bound)) return;
      *to = kept(t, what, f64);
      evaluator.emit(make_store(*to, {e}, bound));
    };
    keep("tolerance", v.tolerance, &all.tolerance);
    keep("typical", v.typical, &all.typical);
    add_loop(e, element_count(t->shape), evaluator.finish());
    known_.push_back(std::move(all));
  }

  // One element after the other: in row-major order the one before along the scan's axis comes before. Each has its
  // own value and bounds among what is known.
  void scan_all(const TensorNode* t) {
    const Var e("e");
    known_.push_back({Tensor(Ref<const TensorNode>(t)), kept(t, "value", wide_of(t->buffer->dtype)), nullptr, nullptr});
    const auto computed = [&](Evaluator& evaluator) { return evaluator.computed(t, coordinates_of(e, t->shape)); };
    std::optional<Evaluator> evaluator(std::in_place, known_, d_.factor_error, denormals_);
    Approximate v = computed(*evaluator);
    if (!is_zero(v.tolerance) || !is_zero(v.typical)) {  // and with the bounds of the element before
      known_.back().tolerance = kept(t, "tolerance", f64);
      known_.back().typical = kept(t, "typical", f64);
      evaluator.emplace(known_, d_.factor_error, denormals_);
      v = computed(*evaluator);
      evaluator->emit(make_store(known_.back().tolerance, {e}, v.tolerance));
      evaluator->emit(make_store(known_.back().typical, {e}, v.typical));
    }
    evaluator->emit(make_store(known_.back().values, {e}, v.exact));
    add_loop(e, element_count(t->shape), evaluator->finish(), LoopKind::kSerial);
  }

  void compute_samples(size_t output, const Buffer& samples) {
    const TensorNode* t = d_.outputs[output].node().get();
    const int64_t count = counts_[output];
    Evaluator evaluator(known_, d_.factor_error, denormals_);
    const Var s("s");
    // Kept in a stack buffer: otherwise every use of an index would load and divide again.
    const Buffer axes = flat_buffer("axes", i64, static_cast<int64_t>(t->shape.size()), BufferScope::kStack);
    const std::vector<Expr> found = coordinates_of(load(samples, {s}), t->shape);
    std::vector<Expr> at;
    for (size_t d = 0; d < found.size(); ++d) {
      const Expr position = make_int(static_cast<int64_t>(d));
      evaluator.emit(make_store(axes, {position}, found[d]));
      at.push_back(within(load(axes, {position}), t->shape[d]));
    }
    const Approximate v = evaluator.element(t, at);
    const auto give = [&](const char* what, const Expr& value) {
      const Buffer b = parameter(named(what, output), ParamRole::kOutput, value->dtype, count);
      evaluator.emit(make_store(b, {s}, value));
    };
    give("value", v.exact);
    give("tolerance", v.tolerance);
    give("typical", v.typical);
    add_loop(s, count, make_allocate(axes, -1, evaluator.finish()));
  }

  const Definition& d_;
  const std::vector<int64_t>& counts_;
  const Denormals denormals_;
  Module module_;
  Function function_;
  std::vector<FlatTensor> known_;
  std::vector<Buffer> kept_;
  std::vector<Stmt> loops_;
};

}  // namespace

Module reference_module(const Definition& d, const std::vector<int64_t>& sample_counts, int workers,
                        Denormals denormals) {
  HONE_ICHECK(sample_counts.size() == d.outputs.size())
      << sample_counts.size() << " sample counts for " << d.outputs.size() << " outputs";
  return Builder(d, sample_counts, workers, denormals).build();
}

std::vector<int64_t> sample_counts(const Definition& d, const std::vector<std::vector<int64_t>>& samples) {
  std::vector<int64_t> counts;
  for (size_t o = 0; o < d.outputs.size(); ++o)
    counts.push_back(samples[o].empty() ? element_count(d.outputs[o]->shape) : static_cast<int64_t>(samples[o].size()));
  return counts;
}

std::vector<int64_t> reference_samples(const Definition& d, size_t output, uint64_t seed, double budget) {
  // Samples travel with every session: the wire takes 131,072 of all outputs together.
  constexpr size_t kWire = 131072;
  const size_t most = std::min<size_t>(65536, kWire / d.outputs.size()), least = std::min<size_t>(16384, most);
  // more elements than this are too many bytes to compare, even when each is cheap
  constexpr int64_t kAll = int64_t{1} << 23;
  const std::vector<int64_t> shape = d.outputs[output]->shape;
  const int64_t elements = element_count(shape);
  const auto cost_of_elements = [&](double count) {
    std::vector<double> wanted(d.outputs.size(), 0);
    wanted[output] = count;
    return cost_of(plan_reference(d, wanted));
  };
  if ((cost_of_elements(static_cast<double>(elements)) <= budget && elements <= kAll) ||
      elements <= static_cast<int64_t>(least))
    return {};
  std::mt19937_64 rng(seed);
  std::set<int64_t> samples;
  std::vector<int64_t> at(shape.size());
  const auto add = [&] {
    int64_t index = 0;
    for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + at[d];
    samples.insert(index);
  };
  // Every corner; then, for each axis, its first and last few elements (edges, and the tails of any split) at random
  // positions of the others.
  for (size_t corner = 0; corner < (size_t{1} << shape.size()); ++corner) {
    for (size_t d = 0; d < shape.size(); ++d) at[d] = corner >> d & 1 ? shape[d] - 1 : 0;
    add();
  }
  for (size_t axis = 0; axis < shape.size(); ++axis)
    for (int64_t edge = 0; edge < std::min<int64_t>(shape[axis], 64); ++edge)
      for (int draw = 0; draw < 16 && samples.size() < most; ++draw) {
        for (size_t d = 0; d < shape.size(); ++d) at[d] = static_cast<int64_t>(rng() % static_cast<uint64_t>(shape[d]));
        // 0, n-1, 1, n-2, …
        at[axis] = edge % 2 == 0 ? edge / 2 : shape[axis] - 1 - edge / 2;
        add();
      }
  const size_t wanted =
      std::max<size_t>(least, std::min<size_t>(static_cast<size_t>(budget / cost_of_elements(1)), most));
  while (samples.size() < std::min<size_t>(wanted, static_cast<size_t>(elements))) {
    for (size_t d = 0; d < shape.size(); ++d) at[d] = static_cast<int64_t>(rng() % static_cast<uint64_t>(shape[d]));
    add();
  }
  return {samples.begin(), samples.end()};
}

}  // namespace hone
