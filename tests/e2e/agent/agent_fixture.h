// A HostMeasurer with its real processes, and small modules for it.
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "rpc/agent/host_measurer.h"
#include "rpc/ir/encode.h"

namespace hone::agent {

using wire::ResultStatus;

inline constexpr int64_t kElements = 1000;

/// C[i] = A[i] + B[i], with whatever `change` makes of the store's value and index; repeated `repeats` times.
struct AddOptions {
  int64_t store_offset = 0;      ///< added to the index of the store
  int64_t repeats = 1;
  double wrong_tail = 0;         ///< added to the last element
  int64_t wild_load_scale = 1;   ///< A[i * scale]
  std::optional<Layout> layout;  ///< of all three
  DType dtype = f32;
};

inline Module add_module(const AddOptions& o = {}) {
  Module m;
  const Layout layout = o.layout.value_or(Layout::identity({kElements}));
  const int64_t n = layout.physical_size();
  m.params = {{"A", ParamRole::kInput, o.dtype, {kElements}, layout},
              {"B", ParamRole::kInput, o.dtype, {kElements}, layout},
              {"C", ParamRole::kOutput, o.dtype, {kElements}, layout}};
  const Buffer a = make_buffer("A", o.dtype, std::vector<int64_t>{n}), b = make_buffer("B", o.dtype, std::vector<int64_t>{n}),
               c = make_buffer("C", o.dtype, std::vector<int64_t>{n});
  const Var i("i"), r("r");
  Expr sum = load(a, {Expr(i) * o.wild_load_scale}) + load(b, {i});
  if (o.wrong_tail != 0) sum = sum + select(eq(i, make_int(n - 1)), make_const(o.wrong_tail, o.dtype), make_const(0, o.dtype));
  Stmt body = make_for(i, make_int(0), make_int(n), LoopKind::kSerial, make_store(c, {Expr(i) + o.store_offset}, sum));
  if (o.repeats > 1) body = make_for(r, make_int(0), make_int(o.repeats), LoopKind::kSerial, body);
  m.kernels.push_back({"add", {a, b, c}, {}, body});
  return m;
}

/// Its reference, for `samples` outputs.
inline Module add_reference(int64_t samples = kElements, DType dtype = f32) {
  const bool floats = dtype.is_float();
  const DType value_type = floats ? f64 : i64;
  Module m;
  m.params = {{"samples", ParamRole::kInput, i64, {samples}, Layout::identity({samples})},
              {"A", ParamRole::kInput, dtype, {kElements}, Layout::identity({kElements})},
              {"B", ParamRole::kInput, dtype, {kElements}, Layout::identity({kElements})},
              {"value", ParamRole::kOutput, value_type, {samples}, Layout::identity({samples})},
              {"magnitude", ParamRole::kOutput, f64, {samples}, Layout::identity({samples})}};
  std::vector<Buffer> buffers;
  for (const Param& p : m.params) buffers.push_back(make_buffer(p.name, p.dtype, p.shape));
  const Var s("s");
  const Expr at = load(buffers[0], {s}), a = load(buffers[1], {at}), b = load(buffers[2], {at});
  const Expr magnitude = floats ? call(Intrinsic::kAbs, {cast(f64, a)}) + call(Intrinsic::kAbs, {cast(f64, b)}) : make_float(0, f64);
  const Stmt body = make_seq({make_store(buffers[3], {s}, cast(value_type, a) + cast(value_type, b)), make_store(buffers[4], {s}, magnitude)});
  m.kernels.push_back({"reference", buffers, {}, make_for(s, make_int(0), make_int(samples), LoopKind::kSerial, body)});
  return m;
}

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    lock_path_ = ::testing::TempDir() + "hone-e2e-" + std::to_string(getpid()) + ".lock";
    setenv("HONE_HOST_LOCK", lock_path_.c_str(), 1);
    StatusOr<ScratchFolder> folder = ScratchFolder::make();
    EXPECT_TRUE(folder.ok()) << folder.status();
    folder_ = folder->path();
    HostOptions options;
    options.threads = 2;
    options.builders = 2;
    measurer_ = std::make_unique<HostMeasurer>(io_, options, std::move(*folder));
    const StatusOr<HostInfo> info = await(measurer_->start());
    EXPECT_TRUE(info.ok()) << info.status();
    if (info.ok()) info_ = *info;
  }
  ~AgentTest() override {
    measurer_.reset();
    unlink(lock_path_.c_str());
    unlink((lock_path_ + ".next").c_str());
  }

  /// Runs the event loop until `a` is done.
  template <class T>
  T await(awaitable<T> a) {
    std::optional<T> result;
    asio::co_spawn(io_, std::move(a), [&](std::exception_ptr e, T value) {
      if (e) std::rethrow_exception(e);
      result.emplace(std::move(value));
    });
    io_.restart();
    while (!result && io_.run_one() > 0) {
    }
    return std::move(*result);
  }

  BuildOutcome build(const Module& m, double timeout_s = 60) { return build_bytes(encode(m), timeout_s); }
  BuildOutcome build_bytes(std::string bytes, double timeout_s = 60) {
    return await(measurer_->build(std::make_shared<const std::string>(std::move(bytes)), timeout_s));
  }
  std::shared_ptr<const BuiltFile> built(const Module& m) {
    BuildOutcome out = build(m);
    EXPECT_EQ(out.status, ResultStatus::kOk) << out.message;
    return out.file;
  }

  /// A request for candidates that add, with the reference of all elements.
  RunRequest request(std::vector<BuiltModule> candidates) {
    if (!reference_) reference_ = built(add_reference());
    RunRequest r;
    r.candidates = std::move(candidates);
    r.seed = 11;
    r.profile.run_timeout_s = 30;
    r.reference = ReferenceRequest{reference_->module, Hash128{1, 1}, 1e-6, 1e-6, {}, 30};
    return r;
  }
  wire::CandidateResult run(const BuiltModule& candidate) { return run_all(request({candidate})).candidates.at(0); }
  RunReply run_all(RunRequest r) { return await(measurer_->run(std::move(r))); }

  asio::io_context io_;
  std::string lock_path_, folder_;
  std::unique_ptr<HostMeasurer> measurer_;
  HostInfo info_;
  std::shared_ptr<const BuiltFile> reference_;
};

}  // namespace hone::agent
