#include "rpc/agent/run/output_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::agent {
namespace {

using wire::ResultStatus;

constexpr uint8_t kSecondPoison = 0x5A;

struct Output {
  const Param& type;
  size_t param, number;            ///< among all parameters, and among the outputs
  std::vector<char> logical = {};  ///< a copy; empty where it is checked in place
};

// Whether the buffer has the elements and nothing else: a copy of them in their logical order costs more than most
// kernels, nearly all of it page faults. An integer kernel is called again, which its copies outlive.
bool is_checked_in_place(const Param& p) {
  return p.dtype.is_float() && p.layout.physical_size() == element_count(p.shape);
}

// The first element that was not written; -1 when all were.
int64_t find_unwritten(CheckedKernel& kernel, const Param& p, size_t param, const std::vector<char>& logical) {
  const int64_t count = element_count(p.shape);
  int64_t unwritten = find_poison(logical.data(), p.dtype, count, 0, kFirstPoison);
  if (unwritten < 0 || p.dtype.is_float()) return unwritten;
  // An integer kernel may have computed the poison itself: an element that was never written keeps another poison, too.
  kernel.poison_outputs(kSecondPoison);
  kernel.call_once();
  const std::vector<char> second = logical_output(kernel, p, param);
  while (unwritten >= 0 && !is_poisoned(second.data(), p.dtype, unwritten, kSecondPoison))
    unwritten = find_poison(logical.data(), p.dtype, count, unwritten + 1, kFirstPoison);
  return unwritten;
}

// Throws where an element was not written.
void fail_unwritten(CheckedKernel& kernel, const Output& output, const std::vector<char>& logical) {
  if (const int64_t unwritten = find_unwritten(kernel, output.type, output.param, logical); unwritten >= 0)
    throw CandidateFailure{ResultStatus::kWrongResult,
                           fmt::format("output element {} of '{}' was never written", unwritten, output.type.name)};
}

}  // namespace

std::vector<char> logical_output(CheckedKernel& kernel, const Param& p, size_t param) {
  std::vector<char> logical(element_count(p.shape) * p.dtype.bytes());
  unpack(kernel.output(param), logical.data(), p.shape, p.layout, p.dtype.bytes());
  return logical;
}

CheckReply check_kernel(CheckedKernel& kernel, const ModuleInfo& info, const std::vector<Expected>& expected) {
  CheckReply reply;
  kernel.poison_outputs(kFirstPoison);
  reply.first_call_seconds = kernel.call_once();
  std::vector<Output> outputs;
  for (size_t i = 0; i < info.params.size(); ++i)
    if (info.params[i].role == ParamRole::kOutput) outputs.push_back({info.params[i], i, outputs.size()});
  const auto compare = [&](const Output& output, const void* data, const std::vector<int64_t>& places) {
    if (output.number >= expected.size()) return;
    Expected wanted = expected[output.number];
    wanted.places = places;
    const CheckResult r = check_output(data, output.type.dtype, wanted);
    reply.result.rel_error = std::max(reply.result.rel_error, r.rel_error);
    reply.result.max_error = std::max(reply.result.max_error, r.max_error);
    if (r.ok || reply.result.status != ResultStatus::kOk) return;
    reply.result.status = ResultStatus::kWrongResult;
    reply.result.message = outputs.size() == 1 ? r.message : fmt::format("'{}': {}", output.type.name, r.message);
  };
  // All outputs are looked at, or copied, before anything is called again.
  for (Output& output : outputs) {
    const Param& p = output.type;
    if (!is_checked_in_place(p)) {
      output.logical = logical_output(kernel, p, output.param);
      continue;
    }
    const void* data = kernel.output(output.param);
    if (find_poison(data, p.dtype, element_count(p.shape), 0, kFirstPoison) >= 0)
      fail_unwritten(kernel, output, logical_output(kernel, p, output.param));
    if (output.number < expected.size())
      compare(output, data,
              p.layout == Layout::identity(p.shape)
                  ? std::vector<int64_t>()
                  : physical_indices(expected[output.number].samples, p.shape, p.layout));
  }
  for (const Output& output : outputs)
    if (!output.logical.empty()) fail_unwritten(kernel, output, output.logical);
  for (const Output& output : outputs)
    if (!output.logical.empty()) compare(output, output.logical.data(), {});
  return reply;
}

}  // namespace hone::agent
