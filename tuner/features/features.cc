#include "tuner/features/features.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "compiler/target/gpu_kinds.h"
#include "tuner/features/feature_writer.h"
#include "tuner/features/roofline.h"
#include "tuner/features/summary.h"

namespace hone {
namespace {

using nest::Access;
using nest::Loop;
using nest::Nests;
using nest::Statement;
using nest::Summary;
using nest::Touch;

// Raise when a feature keeps its name but changes its meaning.
constexpr int kRevision = 2, kGpuRevision = 1;
constexpr int kIntensityPoints = 6, kInnerLoops = 6, kAccesses = 3;
constexpr const char* kKindNames[] = {"serial", "unroll", "vector", "parallel"};

using Writer = FeatureWriter;

}  // namespace

void put_operations(Writer& w, const nest::Operations& ops, double times) {
  w.put("float_add", log_of(ops.float_add * times));
  w.put("float_mul", log_of(ops.float_mul * times));
  w.put("float_fma", log_of(ops.float_fma * times));
  w.put("float_other", log_of(ops.float_other * times));
  w.put("integer", log_of(ops.integer * times));
  w.put("compare", log_of(ops.compare * times));
  w.put("cast", log_of(ops.cast * times));
  w.put("load", log_of(ops.load * times));
  w.put("address", log_of(ops.address * times));
}

namespace {

void put_loops(Writer& w, const Summary& f) {
  const Statement& s = f.s;
  for (int k = 0; k < 4; ++k) w.put(kKindNames[k], log_of(f.by_kind[k]));
  w.put("depth", s.depth);
  const double vector = f.vector_loop < 0 ? 1 : f.loop_at(f.vector_loop).extent;
  w.put("vector_per_lanes", log_ratio(vector, f.lanes));
  w.put("vector_waste", std::ceil(vector / f.lanes) * f.lanes / vector - 1);
  w.put("parallel_per_thread",
        log_ratio(f.by_kind[static_cast<int>(LoopKind::kParallel)], std::max(1, f.target.threads)));
  w.put("parallel_imbalance", nest::imbalance(f) - 1);
  w.put("guards", s.guards);
  w.put("waste", std::log2(s.waste));
}

// The straight-line body: how many accumulators, how many loads a multiply-add, how much code.
void put_body(Writer& w, const Summary& f) {
  const Statement& s = f.s;
  const double instructions = f.body_instructions();
  const double accumulators = f.registers(s.accesses.front());
  w.put("body_instructions", log_of(instructions * (1 + s.ops.work())));
  w.put("accumulators", log_of(accumulators));
  w.put("register_pressure", log_ratio(accumulators + 2, f.target.vector_registers));
  w.put("spills", std::max(0.0, accumulators + 2 - f.target.vector_registers) / f.target.vector_registers);
  w.put("loads_per_instruction", log_ratio(f.body_loads(), instructions));
  w.put("vector_share", std::log2(f.vector_width()));
  // Loops that the store does not depend on are reductions: how long a value stays in its register.
  double reduction = 1, inner_reduction = 1;
  bool inner = true;
  for (int l = s.depth; l-- > 0;) {
    const bool reduces = f.stride(s.accesses.front(), l) == 0;
    if (reduces) reduction *= f.loop_at(l).extent;
    if (l < f.body && !reduces && f.loop_at(l).extent > 1) inner = false;
    if (inner && reduces) inner_reduction *= f.loop_at(l).extent;
  }
  w.put("reduction", log_of(reduction));
  w.put("inner_reduction", log_of(inner_reduction));
  w.put("stores_to_stack", s.accesses.front().buffer->scope == BufferScope::kStack);
  w.put("stores_to_workspace", s.accesses.front().buffer->scope == BufferScope::kWorkspace);
}

void put_caches(Writer& w, const Summary& f) {
  const Statement& s = f.s;
  const double flops = s.executions * s.ops.work();
  const double caches[] = {static_cast<double>(f.target.l1_bytes), static_cast<double>(f.target.l2_bytes)};
  for (int c = 0; c < 2; ++c) {
    const Summary::Traffic t = f.traffic(caches[c]);
    w.put("cache_traffic", log_of(t.bytes), c + 1);
    w.put("cache_intensity", log_ratio(flops, t.bytes), c + 1);
    w.put("cache_fit_iterations", log_of(s.iterations(t.fit)), c + 1);
    w.put("cache_use", log_ratio(t.resident, caches[c]), c + 1);
  }
  const double whole = f.footprint(0);
  w.put("footprint", log_of(whole));
  w.put("footprint_per_l3", f.target.l3_bytes > 0 ? log_ratio(whole, static_cast<double>(f.target.l3_bytes)) : 0);
  // Operations per byte touched at points from the whole nest to one execution, interpolated between loops.
  for (int p = 0; p < kIntensityPoints; ++p) {
    const int l = s.depth * p / (kIntensityPoints - 1);
    w.put("intensity", log_ratio(s.iterations(l) * s.ops.work(), f.footprint(l)), p);
  }
}

// The bound of the statement by a model without learning, and how far it is above the bound by arithmetic alone.
void put_roofline(Writer& w, const Summary& f, double all) {
  const nest::Cycles c = nest::cycles_of(f);
  const double total = std::max(c.total(), 1e-3);
  w.put("cycles_compute", log_ratio(c.compute, total));
  w.put("cycles_l1", log_ratio(c.l1, total));
  w.put("cycles_l2", log_ratio(c.l2, total));
  w.put("cycles_loops", log_ratio(c.loops, total));
  w.put("cycles_share", log_ratio(nest::elapsed(f), all));
}

// The distance between two uses of the same data, in bytes touched between them relative to a cache: for the innermost
// loop outside the body that does not move the access.
void put_reuse(Writer& w, const Summary& f, const Access* a, int index) {
  int l = f.body - 1;
  while (a && l >= 0 && (f.stride(*a, l) != 0 || f.loop_at(l).extent == 1)) --l;
  const bool reused = a && l >= 0;
  const double between = reused ? f.footprint(l + 1) : 0;
  w.put("reused", reused ? log_of(f.loop_at(l).extent) : 0, index);
  w.put("reuse_distance1", reused ? log_ratio(between, static_cast<double>(f.target.l1_bytes)) : 20, index);
  w.put("reuse_distance2", reused ? log_ratio(between, static_cast<double>(f.target.l2_bytes)) : 20, index);
}

void put_inner_loops(Writer& w, const Summary& f) {
  int l = f.s.depth;
  for (int i = 0; i < kInnerLoops; ++i) {
    while (l > 0 && f.loop_at(l - 1).extent == 1) --l;
    const bool there = l-- > 0;
    w.put("inner_extent", there ? std::log2(f.loop_at(l).extent) : 0, i);
    w.put("inner_kind", there ? static_cast<double>(f.loop_at(l).kind) : -1, i);
  }
}

void put_accesses(Writer& w, const Summary& f) {
  const Statement& s = f.s;
  int innermost = s.depth - 1;
  while (innermost > 0 && f.loop_at(innermost).extent == 1) --innermost;
  for (int i = 0; i < kAccesses; ++i) {
    // The store, and the first loads of other buffers.
    const Access* a = nullptr;
    int other = 0;
    for (const Access& x : s.accesses)
      if (&x == &s.accesses.front() ? i == 0 : x.buffer != s.accesses.front().buffer && ++other == i) a = &x;
    const Touch whole = a ? s.touch(*a, 0) : Touch{};
    const Touch inner = a ? s.touch(*a, f.body) : Touch{};
    const double bytes = a ? a->element_bytes() : 0;
    w.put("element_bytes", bytes, i);
    w.put("scope", a ? static_cast<double>(a->buffer->scope) : -1, i);
    w.put("stride_innermost", a && innermost >= 0 ? log_of(f.stride(*a, innermost)) : 0, i);
    w.put("stride_vector", a ? log_of(f.stride(*a, f.vector_loop)) : 0, i);
    w.put("bytes", a ? log_of(whole.elements * bytes) : 0, i);
    w.put("lines", a ? log_of(whole.lines) : 0, i);
    w.put("reuse", a ? log_ratio(s.executions, whole.elements) : 0, i);
    w.put("line_use", a ? log_ratio(whole.elements * bytes, 64 * whole.lines) : 0, i);
    w.put("body_bytes", a ? log_of(inner.elements * bytes) : 0, i);
    w.put("body_reuse", a ? log_ratio(s.iterations(f.body), inner.elements) : 0, i);
    put_reuse(w, f, a, i);
  }
}

double work_of(const Statement& s) { return s.executions * (1 + s.ops.work() + s.ops.load); }

void put_totals(Writer& w, const Module& m, const Target& target, const Nests& nests) {
  w.group("total");
  nest::Operations ops;
  double stores = 0, bytes = 0;
  for (const Statement& s : nests.statements) {
    const auto add = [&](double nest::Operations::*field) { ops.*field += s.executions * s.ops.*field; };
    for (auto field : {&nest::Operations::float_add, &nest::Operations::float_mul, &nest::Operations::float_fma,
                       &nest::Operations::float_other, &nest::Operations::integer, &nest::Operations::compare,
                       &nest::Operations::cast, &nest::Operations::load, &nest::Operations::address})
      add(field);
    stores += s.executions;
    bytes += s.executions * s.accesses.front().element_bytes();
  }
  put_operations(w, ops, 1);
  w.put("stores", log_of(stores));
  w.put("stored_bytes", log_of(bytes));
  w.put("statements", log_of(static_cast<double>(nests.statements.size())));
  w.put("statements_unrolled", log_of(nests.statements_unrolled));
  w.put("loops", log_of(nests.loops));
  w.put("parallel_loops", nests.parallel_loops);
  w.put("stack_bytes", log_of(nests.stack_bytes));
  w.put("workspace_bytes", log_of(static_cast<double>(m.workspace_bytes)));
  double logical = 1, physical = 1, parameter_bytes = 0;
  for (const Param& p : m.params) {
    double elements = 1;
    for (int64_t n : p.shape) elements *= static_cast<double>(n);
    logical += elements;
    double stored = 1;
    for (const LayoutDim& d : p.layout.dims) stored *= static_cast<double>(d.extent);
    physical += stored;
    parameter_bytes += stored * static_cast<double>(p.dtype.lane_bytes());
  }
  w.put("padding", log_ratio(physical, logical));
  w.put("parameter_bytes", log_of(parameter_bytes));
  w.put("kernels", static_cast<double>(m.kernels.size()));
  w.put("workers", log_of(m.workers));
  w.put("vector_bits", log_of(m.vector_bits));
  w.put("dynamic_partition", m.partition == Partition::kDynamic);
  w.group("target");
  w.put("threads", log_of(target.threads));
  w.put("vector_bits", log_of(target.vector_bits));
  w.put("registers", log_of(target.vector_registers));
  w.put("l1", log_of(static_cast<double>(target.l1_bytes)));
  w.put("l2", log_of(static_cast<double>(target.l2_bytes)));
}

}  // namespace

void put_cpu_features(FeatureWriter& w, const Module& m, const Target& device) {
  Target target = device;
  // A config may ask for narrower vectors.
  if (m.vector_bits > 0) target.vector_bits = std::min(target.vector_bits, m.vector_bits);
  const Nests nests = nest::nests_of(m);
  // A program without stores (all of it simplified away) still has a vector: that of one empty statement.
  static const Buffer nothing = make_buffer("nothing", f32, std::vector<int64_t>{1});
  Statement empty;
  empty.executions = 0;
  empty.accesses.emplace_back();
  empty.accesses.front().buffer = nothing.get();
  const Statement *first = &empty, *second = &empty;
  for (const Statement& s : nests.statements) {
    if (first == &empty || work_of(s) > work_of(*first)) {
      second = first;
      first = &s;
    } else if (second == &empty || work_of(s) > work_of(*second)) {
      second = &s;
    }
  }
  const Summary main(*first, target), next(*second, target);
  double all = 1e-3, flops = 0, widest = 1;
  for (const Statement& s : nests.statements) {
    const Summary f(s, target);
    all += nest::elapsed(f);
    flops += s.executions * s.ops.flops();
    widest = std::max(widest, f.lanes);
  }
  w.group("main");
  w.put("executions", log_of(first->executions));
  w.put("flops", log_of(first->executions * first->ops.work()));
  put_operations(w, first->ops, 1);
  put_loops(w, main);
  put_body(w, main);
  put_caches(w, main);
  put_roofline(w, main, all);
  put_inner_loops(w, main);
  put_accesses(w, main);
  w.group("next");
  w.put("executions", log_of(second->executions));
  w.put("share", log_ratio(work_of(*second), work_of(*first)));
  w.put("flops", log_of(second->executions * second->ops.work()));
  put_loops(w, next);
  put_roofline(w, next, all);
  w.put("footprint", log_of(next.footprint(0)));
  w.put("stride_store", log_of(next.stride(second->accesses.front(), second->depth - 1)));
  w.put("stride_load", second->accesses.size() > 1 ? log_of(next.stride(second->accesses[1], second->depth - 1)) : 0);
  put_totals(w, m, target, nests);
  w.group("roofline");
  w.put("cycles", log_of(all));
  // Two fused multiply-adds a cycle on each thread.
  w.put("efficiency", log_ratio(flops / (4 * widest * std::max(1, target.threads)), all));
}

namespace {

std::vector<std::string> make_names(FeatureSet set) {
  std::vector<std::string> names;
  Writer w(&names);
  (set == FeatureSet::kCpu ? put_cpu_features : put_gpu_features)(w, Module{}, Target{});
  HONE_ICHECK(names.size() == kFeatureCount) << "kFeatureCount must be " << names.size();
  return names;
}

}  // namespace

FeatureSet feature_set(std::string_view target_kind) {
  return find_gpu_kind(target_kind) ? FeatureSet::kGpu : FeatureSet::kCpu;
}

Features features_of(const Module& m, const Target& target) {
  Features out{};
  Writer w(out.data());
  (target.is_gpu() ? put_gpu_features : put_cpu_features)(w, m, target);
  return out;
}

const std::vector<std::string>& feature_names(FeatureSet set) {
  static const std::vector<std::string> cpu = make_names(FeatureSet::kCpu), gpu = make_names(FeatureSet::kGpu);
  return set == FeatureSet::kCpu ? cpu : gpu;
}

// The roofline stands in the same place of both.
float draft_score(const float* features) {
  static const size_t cycles = static_cast<size_t>(
      std::find(feature_names().begin(), feature_names().end(), "roofline.cycles") - feature_names().begin());
  return -features[cycles];
}

Hash128 feature_schema(FeatureSet set) {
  std::string text = "revision " + std::to_string(set == FeatureSet::kCpu ? kRevision : kGpuRevision);
  for (const std::string& n : feature_names(set)) text += "\n" + n;
  return hash_bytes(text);
}

}  // namespace hone
