#include "tuner/measure/candidate.h"

#include "base/check.h"
#include "compiler/ir/structural_hash.h"
#include "compiler/ops/user_operator.h"

namespace hone {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

const Features* CompiledCandidates::features(const Config& config) {
  const ConfigIndex index = space_.index_of(config);
  if (const auto it = features_.find(index); it != features_.end()) return it->second.get();
  if (features_.size() >= most_features_) features_.clear();
  cores_.yield();
  std::unique_ptr<Features> row;
  try {
    row = std::make_unique<Features>(features_of(lower_config(workload_, target_, space_, config), target_));
  } catch (const std::exception&) {
    // if it is proposed, prepare() says why it cannot be lowered
  }
  return features_.emplace(index, std::move(row)).first->second.get();
}

void CompiledCandidates::expect(std::span<const Config> configs) {
  if (const UserTemplate* own = user_template(workload_); own && own->expect) own->expect(space_, configs);
}

void CompiledCandidates::remember(const Config& config, const Features& features) {
  if (features_.size() < most_features_)
    features_.emplace(space_.index_of(config), std::make_unique<Features>(features));
}

std::shared_ptr<const Candidate> CompiledCandidates::prepare(const Config& config) {
  auto c = std::make_shared<Candidate>();
  c->config = config;
  c->config_text = space_.print(config);
  cores_.yield();
  try {
    c->module = lower_config(workload_, target_, space_, config);
    c->hash = content_hash(c->module);
    c->layouts = layouts_of(c->module);
    c->features = features_of(c->module, target_);
    if (encode_) c->encoded = encode_(c->module);
  } catch (const std::exception& e) {
    c->module = Module{};
    c->error = first_line(e.what());
    if (c->error.empty()) c->error = "lowering failed without a message";
  }
  return c;
}

}  // namespace hone
