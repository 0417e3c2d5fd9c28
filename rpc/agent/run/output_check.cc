#include "rpc/agent/run/output_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::agent {
namespace {

using wire::ResultStatus;

constexpr uint8_t kSecondPoison = 0x5A;

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
  // All outputs are checked before anything is called again.
  std::vector<std::pair<size_t, std::vector<char>>> outputs;
  for (size_t i = 0; i < info.params.size(); ++i)
    if (info.params[i].role == ParamRole::kOutput) outputs.emplace_back(i, logical_output(kernel, info.params[i], i));
  for (const auto& [param, logical] : outputs) {
    const Param& p = info.params[param];
    if (const int64_t unwritten = find_unwritten(kernel, p, param, logical); unwritten >= 0)
      throw CandidateFailure{ResultStatus::kWrongResult,
                             fmt::format("output element {} of '{}' was never written", unwritten, p.name)};
  }
  for (size_t o = 0; o < std::min(expected.size(), outputs.size()); ++o) {
    const Param& p = info.params[outputs[o].first];
    const CheckResult r = check_output(outputs[o].second.data(), p.dtype, expected[o]);
    reply.result.rel_error = std::max(reply.result.rel_error, r.rel_error);
    reply.result.max_error = std::max(reply.result.max_error, r.max_error);
    if (r.ok) continue;
    reply.result.status = ResultStatus::kWrongResult;
    reply.result.message = outputs.size() == 1 ? r.message : fmt::format("'{}': {}", p.name, r.message);
    break;
  }
  return reply;
}

}  // namespace hone::agent
