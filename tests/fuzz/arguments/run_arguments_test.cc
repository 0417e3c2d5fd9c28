// NAME_run with wrong arguments, drawn at random: it says that they are wrong and touches nothing, or computes the
// right outputs. Tensors and workspace lie between guard pages. HONE_FUZZ_COUNT calls it more often, HONE_FUZZ_SEED
// with others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/text.h"
#include "compiler/host/load_objects.h"
#include "compiler/ir/dlpack_type.h"
#include "compiler/model/build_model.h"
#include "compiler/model/model_data.h"
#include "compiler/runtime/thread_pool.h"
#include "tests/fakes/workloads.h"
#include "tests/fuzz/guarded_memory.h"

namespace hone {
namespace {

using fuzz::GuardedMemory;
using fuzz::Side;

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

// Inputs of several types, a rank of 0, an extent of 1, an output that is an input.
Graph net(int batch) {
  return parse_graph(test_operators(), fmt::format(R"(graph g
input "x" %x f32[{0}, 1, 7]
input "k" %k s64[]
input "mask" %m bool[{0}, 7]
%w = constant f32[5, 7] fill 1
%f = reshape(shape={0}x1x7,to={0}x7) %x
%d = dense(m={0},n=5,k=7,epilogue=sigmoid) %f %w
%z = constant f32[1, 1] [0]
%s = elementwise(op=where,shape={0}x7,operands=same:1x1) %f %m %z
%n = elementwise(op=add,shape=1,dtype=s64) %k %k
output "d" %d f32[{0}, 5]
output "s" %s f32[{0}, 7]
output "n" %n s64[]
output "again" %m bool[{0}, 7]
)",
                                                   batch));
}

std::vector<int64_t> row_major(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// One tensor in guarded memory.
struct Argument {
  TensorType type;
  std::vector<int64_t> shape, other_shape, strides;
  std::unique_ptr<GuardedMemory> memory;
  DLTensor tensor{};
  bool is_output = false;

  Argument(const Port& p, bool output, Side side) : type(p.type), shape(p.type.shape), is_output(output) {
    memory = std::make_unique<GuardedMemory>(bytes_of(type), side);
    tensor.data = memory->data();
    tensor.device = {kDLCPU, 0};
    tensor.dtype = dlpack_type(type.dtype);
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.shape = shape.data();
  }
  std::string bytes() const {
    return {reinterpret_cast<const char*>(memory->data()), static_cast<size_t>(bytes_of(type))};
  }
  void set(const std::string& bytes) { std::memcpy(memory->data(), bytes.data(), bytes.size()); }
};

// Calls of one variant: right arguments, and their results.
class Calls {
 public:
  Calls(const Graph& g, Side side, std::mt19937_64& rng) : rng_(rng) {
    const std::vector<TensorData> inputs = seeded_inputs(g), wanted = interpret(g, inputs, &evaluate);
    for (size_t i = 0; i < g.inputs.size(); ++i) {
      all_.emplace_back(g.inputs[i], false, side);
      all_.back().set({inputs[i].bytes().begin(), inputs[i].bytes().end()});
    }
    for (size_t o = 0; o < g.outputs.size(); ++o) {
      all_.emplace_back(g.outputs[o], true, side);
      wanted_.push_back(wanted[o]);
    }
  }

  // Makes one thing wrong, or says the same in another way.
  void change() {
    Argument& a = all_[below(all_.size())];
    DLTensor& t = a.tensor;
    switch (below(12)) {
      case 0: t.data = nullptr; break;
      case 1:
        t.device.device_type = pick<DLDeviceType>({kDLCUDA, kDLOpenCL, kDLROCM, static_cast<DLDeviceType>(-1)});
        break;
      case 2:
        (below(3) == 0 ? t.dtype.code : t.dtype.bits) = static_cast<uint8_t>(rng_());
        if (below(3) == 0) t.dtype.lanes = static_cast<uint16_t>(rng_());
        break;
      case 3: t.ndim = pick<int32_t>({-1, 0, 1, 2, 3, 4, 1 << 20, INT32_MAX, INT32_MIN}); break;
      case 4: t.shape = nullptr; break;
      case 5:
        if (a.shape.empty()) break;
        a.other_shape = a.shape;
        a.other_shape[below(a.shape.size())] =
            pick<int64_t>({0, -1, 1, 3, 6, INT64_MAX, INT64_MIN, static_cast<int64_t>(rng_())});
        t.shape = a.other_shape.data();
        break;
      case 6:
        a.strides = row_major(a.shape);
        t.strides = a.strides.data();
        break;
      case 7:
        if (a.shape.empty()) break;
        a.strides = row_major(a.shape);
        if (int64_t& stride = a.strides[below(a.shape.size())];
            a.shape[static_cast<size_t>(&stride - a.strides.data())] > 1)
          stride = pick<int64_t>({0, -1, stride + 1, INT64_MAX, INT64_MIN});
        t.strides = a.strides.data();
        break;
      case 8:  // the same address
        if (!t.data || t.byte_offset != 0) break;
        t.byte_offset = static_cast<uint64_t>(below(1000)) * 64;
        t.data = static_cast<char*>(t.data) - t.byte_offset;
        break;
      case 9:
        if (t.byte_offset == 0 && a.type.dtype.bytes() > 1)
          t.byte_offset = 1 + below(static_cast<size_t>(a.type.dtype.bytes()) - 1);
        break;
      case 10: missing_ = below(all_.size()); break;
      default: {
        const auto n = static_cast<int32_t>(all_.size());
        count_ = pick<int32_t>({0, -1, 1, n - 1, n + 1, INT32_MAX, INT32_MIN});
      }
    }
  }

  // The arguments that are passed, for a person who looks for a mistake.
  std::string text() const {
    std::string out;
    for (const Argument& a : all_) {
      const DLTensor& t = a.tensor;
      out += fmt::format("{}: data {} + {}, device {}, type {}.{}x{}, rank {}, shape {}, strides {}\n",
                         to_string(a.type), t.data, t.byte_offset, static_cast<int>(t.device.device_type), t.dtype.code,
                         t.dtype.bits, t.dtype.lanes, t.ndim,
                         !t.shape                          ? "null"
                         : t.shape == a.other_shape.data() ? text_of_extents(a.other_shape)
                                                           : "as it is",
                         t.strides ? text_of_extents(a.strides) : "null");
    }
    return out;
  }

  // Whether hone_runtime.h allows these arguments for NAME_run.
  bool is_right() const {
    const auto is_fine = [](const Argument& a) {
      const DLTensor& t = a.tensor;
      const DLDataType type = dlpack_type(a.type.dtype);
      return t.data && t.device.device_type == kDLCPU && std::memcmp(&t.dtype, &type, sizeof type) == 0 &&
             t.ndim == static_cast<int32_t>(a.shape.size()) &&
             (t.ndim == 0 || (t.shape && std::equal(a.shape.begin(), a.shape.end(), t.shape))) &&
             (!t.strides || a.strides == row_major(a.shape)) &&
             (reinterpret_cast<uintptr_t>(t.data) + t.byte_offset) % static_cast<size_t>(a.type.dtype.bytes()) == 0;
    };
    return !missing_ && !count_ && std::all_of(all_.begin(), all_.end(), is_fine);
  }

  // The fault in the behaviour of NAME_run; empty: none.
  std::string run(HoneEntry run, const char* (*error)(int32_t), char* workspace, const HoneRuntime* rt, bool is_right) {
    std::vector<std::string> before;
    std::vector<const DLTensor*> args;
    for (Argument& a : all_) {
      if (a.is_output) a.set(std::string(static_cast<size_t>(bytes_of(a.type)), '\x5a'));
      before.push_back(a.bytes());
      args.push_back(&a.tensor);
    }
    if (missing_) args[*missing_] = nullptr;
    const int32_t code = run(args.data(), count_.value_or(static_cast<int32_t>(args.size())), workspace, rt);
    for (size_t i = 0; i < all_.size(); ++i)
      if (!all_[i].memory->intact()) return fmt::format("it wrote beside tensor {}", i);
    if (!is_right) {
      if ((code & 0xff) != HONE_BAD_ARGUMENTS) return fmt::format("it returned {}", code);
      if (std::string(error(code)).empty()) return "it says nothing";
      for (size_t i = 0; i < all_.size(); ++i)
        if (all_[i].bytes() != before[i]) return fmt::format("it wrote tensor {}", i);
      return "";
    }
    if (code != HONE_OK) return fmt::format("it refused: {}", error(code));
    size_t o = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!all_[i].is_output) {
        if (all_[i].bytes() != before[i]) return fmt::format("it wrote input {}", i);
        continue;
      }
      const TensorData got(all_[i].type, all_[i].bytes());
      const std::vector<double> a = got.values(), b = wanted_[o++].values();
      for (size_t e = 0; e < a.size(); ++e)
        if (!(std::abs(a[e] - b[e]) <= 1e-5)) return fmt::format("output {} is wrong", o - 1);
    }
    return "";
  }

 private:
  size_t below(size_t n) { return static_cast<size_t>(rng_() % n); }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return *(of.begin() + below(of.size()));
  }

  std::mt19937_64& rng_;
  std::deque<Argument> all_;
  std::vector<TensorData> wanted_;
  std::optional<size_t> missing_;  // no tensor there
  std::optional<int32_t> count_;
};

TEST(RunArguments, AreRefusedOrRight) {
  const Graph one = net(1), four = net(4);
  const Target target = host_target(2);
  const BuiltModel built = build_model({{"batch=1", &one, target}, {"batch=4", &four, target}},
                                       {"m", target, [](const Workload&, const Target&, const Space& space) {
                                          return ChosenConfig{space.default_config(), "default", ""};
                                        }});
  std::vector<std::string> parts;
  for (const ArtifactObject& object : built.objects)
    if (!object.has_threads) parts.insert(parts.end(), object.parts.begin(), object.parts.end());
  const Artifact artifact = load_objects(parts, "m");
  const auto run = reinterpret_cast<HoneEntry>(artifact.symbol("m_run"));
  const auto error = artifact.description()->error;
  int64_t workspace_bytes = 1;
  for (int32_t v = 0; v < artifact.description()->variant_count; ++v)
    workspace_bytes = std::max(workspace_bytes, artifact.description()->variants[v].run_workspace_bytes);
  ThreadPool pool({.workers = 2});
  const uint64_t first = setting("HONE_FUZZ_SEED", 0), count = setting("HONE_FUZZ_COUNT", 3000);
  size_t right = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::mt19937_64 rng(seed);
    const Side side = rng() % 2 ? Side::kLeft : Side::kRight;
    const size_t variant = rng() % 2;
    Calls calls(variant == 0 ? one : four, side, rng);
    const GuardedMemory workspace(workspace_bytes, side);
    auto* place = reinterpret_cast<char*>(workspace.data());
    const HoneRuntime* rt = rng() % 2 ? pool.runtime() : nullptr;
    HoneRuntime other{};
    for (uint64_t changes = rng() % 3; changes > 0; --changes) calls.change();
    bool is_right = calls.is_right();
    switch (rng() % 16) {
      case 0: place = nullptr, is_right &= artifact.description()->variants[variant].run_workspace_bytes == 0; break;
      case 1: place += 1 + rng() % 63, is_right = false; break;
      case 2:
        other = *pool.runtime();
        other.abi_version = static_cast<int32_t>(rng());
        is_right &= other.abi_version >= HONE_RUNTIME_ABI_OLDEST && other.abi_version <= HONE_RUNTIME_ABI;
        rt = &other;
        break;
      default: break;
    }
    ASSERT_EQ(calls.run(run, error, place, rt, is_right), "") << "seed " << seed << "\n" << calls.text();
    EXPECT_TRUE(workspace.intact());
    right += is_right ? 1 : 0;
  }
  EXPECT_GT(right, count / 10);
  EXPECT_LT(right, count);
}

}  // namespace
}  // namespace hone
