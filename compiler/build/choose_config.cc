#include "compiler/build/choose_config.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/check.h"
#include "base/short_hash.h"
#include "base/text.h"
#include "compiler/build/plain_layer.h"
#include "compiler/build/transfer_gain.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/user_operator.h"

namespace hone {
namespace {

// The numbers of `56` or `1x64x56x56`; none when it is something else.
std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> out;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text, 'x'))) {
    if (part.empty() || !std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; })) return {};
    out.push_back(std::stod(part));
  }
  return out;
}

// Larger than any distance between numbers: the anchor's shape comes before its prologue and epilogue.
constexpr double kOtherChain = 1e6;

// Attributes that decide which inputs an output reads: for another window other algorithms are good.
bool is_of_window(const std::string& attribute) {
  for (const char* name : {"kh", "kw", "stride", "dilation", "groups"})
    if (attribute == name) return true;
  return false;
}

// Whether a chain rounds to whole numbers: a difference of a rounding, which algorithms differ by, is a step there.
bool has_steps(const std::string& chain) {
  return chain.find("round") != std::string::npos || chain.find("saturate") != std::string::npos;
}

}  // namespace

double workload_distance(const Workload& a, const Workload& b) {
  if (a.operator_name() != b.operator_name()) return INFINITY;
  double sum = 0;
  for (auto x = a.attributes.begin(), y = b.attributes.begin(); x != a.attributes.end(); ++x, ++y) {
    // The definition of another shape has another hash.
    if (x->text == y->text || (x->name == "def" && is_user_operator(a))) continue;
    if (x->value.type() == typeid(Epilogue) || x->value.type() == typeid(Prologue)) {
      if (has_steps(x->text) != has_steps(y->text)) return INFINITY;
      sum += kOtherChain;
      continue;
    }
    if (is_of_window(x->name)) return INFINITY;
    const std::vector<double> m = numbers_of(x->text), n = numbers_of(y->text);
    if (m.empty() || m.size() != n.size()) return INFINITY;
    for (size_t d = 0; d < m.size(); ++d) sum += std::fabs(std::log2(1 + m[d]) - std::log2(1 + n[d]));
  }
  return sum;
}

namespace {

std::optional<Config> own_config(const Space& space, const db::BestRow& row) {
  if (row.space != space.fingerprint().hex()) return std::nullopt;
  try {
    const Config c = space.parse(row.config);
    return space.valid(c) ? std::optional(c) : std::nullopt;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

std::optional<Config> adapted_config(const Space& space, const db::BestRow& row, bool other_threads) {
  if (row.template_name != space.template_name() || row.template_revision != space.revision()) return std::nullopt;
  return space.adapt(row.config, other_threads);
}

// The factor between two numbers, as a distance.
double apart(double a, double b) { return std::fabs(std::log2(std::max(a, 1.0)) - std::log2(std::max(b, 1.0))); }

std::optional<Target> known_target(const std::string& text) {
  try {
    return Target::parse(text);
  } catch (const UserError&) {
    return std::nullopt;  // of a later version of Hone
  }
}

// Whether two targets have the same vector registers, which decide the good register tiles.
bool has_same_registers(const Target& a, const Target& b) {
  return a.arch == b.arch && a.vector_bits == b.vector_bits && a.vector_registers == b.vector_registers;
}

template <class Key>
std::vector<std::string> in_order(std::vector<std::pair<Key, std::string>> ranked) {
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> out;
  for (auto& [key, text] : ranked) out.push_back(std::move(text));
  return out;
}

}  // namespace

std::vector<std::string> rank_gpu_targets(const Target& target, const std::vector<std::string>& known) {
  std::vector<std::pair<std::tuple<int, double, double>, std::string>> ranked;
  for (const std::string& text : known) {
    const auto t = known_target(text);
    if (!t || t->kind != target.kind) continue;
    ranked.push_back({{std::abs(t->compute_capability() - target.compute_capability()), apart(t->sms, target.sms),
                       apart(static_cast<double>(t->shared_bytes), static_cast<double>(target.shared_bytes))},
                      text});
  }
  return in_order(std::move(ranked));
}

std::vector<std::string> rank_cpu_targets(const Target& target, const std::vector<std::string>& known) {
  std::vector<std::pair<std::tuple<bool, double>, std::string>> ranked;
  for (const std::string& text : known) {
    const auto t = known_target(text);
    if (t && t->kind == target.kind && has_same_registers(*t, target))
      ranked.push_back({{t->mcpu != target.mcpu, apart(t->threads, target.threads)}, text});
  }
  return in_order(std::move(ranked));
}

std::vector<std::string> rank_nearest(const Workload& w, const std::vector<std::string>& known, double farthest) {
  std::vector<std::pair<double, std::string>> ranked;
  for (const std::string& text : known) {
    try {
      const double d = workload_distance(w, Workload::parse_of(w.op, text));
      if (std::isfinite(d) && std::fmod(d, kOtherChain) <= farthest) ranked.emplace_back(d, text);
    } catch (const UserError&) {
      // A workload of an operator that this version does not know is skipped.
    }
  }
  return in_order(std::move(ranked));
}

namespace {

// The same CPU, whatever the number of threads. Cache sizes equal to the table's may be defaults rather than measured:
// on ARM without /sys, and in rows made there.
bool is_same_cpu(const Target& a, const Target& b) {
  const auto may_be_untold = [](const Target& t) { return t.l2_bytes == cpu_defaults(t.arch, t.mcpu).l2_bytes; };
  return a.mcpu == b.mcpu && a.mattr == b.mattr && (a.l2_bytes == b.l2_bytes || may_be_untold(a) || may_be_untold(b));
}

// Which CPUs' rows are taken, and why others' are not.
class TransferRule {
 public:
  TransferRule(const Workload& w, const Target& target, Transfer transfer)
      : workload_(w), target_(target), takes_all_(transfer == Transfer::kAny || target.is_gpu()) {}

  // The targets, nearest first, whose rows are taken: of the same CPU, whatever the number of threads, then by the
  // gain of such rows.
  std::vector<std::string> worth_taking(const std::vector<std::string>& targets, db::LookupStep step) {
    if (takes_all_) return targets;
    std::vector<std::pair<double, std::string>> taken;
    for (const std::string& text : targets) {
      const Target from = *known_target(text);
      const std::optional<double> gain = transfer_gain(workload_, from, target_, step);
      if (is_same_cpu(from, target_))
        taken.emplace_back(-INFINITY, text);
      else if (gain.value_or(0) >= kLeastTransferGain)
        taken.emplace_back(-*gain, text);
      else if (left_out_.empty())
        left_out_ = why_not(from, gain);
    }
    std::stable_sort(taken.begin(), taken.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> out;
    for (auto& [order, text] : taken) out.push_back(std::move(text));
    return out;
  }

  // The note on a row of another target that was taken, with its expected gain; empty when none was measured.
  std::string expectation(const db::LookupAnswer& answer) const {
    if (target_.is_gpu() || answer.row->target == to_string(target_)) return "";
    const auto gain = transfer_gain(workload_, *known_target(answer.row->target), target_, answer.step);
    return gain ? fmt::format("; such rows of {} have {:.2f} of the default's speed on {}",
                              to_string(core_kind(*known_target(answer.row->target))), *gain,
                              to_string(core_kind(target_)))
                : "";
  }

  const std::string& left_out() const { return left_out_; }

  // Why a target's rows are not taken; `target_` has other registers, or the rule says so.
  std::string why_not(const std::string& text, db::LookupStep step) const {
    const auto from = known_target(text);
    if (!from) return "its target is of a later version of Hone";
    if (from->kind != target_.kind || (!target_.is_gpu() && !has_same_registers(*from, target_)))
      return fmt::format("its target has other vector registers than {}", target_.mcpu);
    return why_not(*from, transfer_gain(workload_, *from, target_, step));
  }

 private:
  std::string why_not(const Target& from, std::optional<double> gain) const {
    if (!gain) return fmt::format("rows of {} are not taken: not measured on {}", from.mcpu, target_.mcpu);
    return fmt::format("rows of {} are not taken: such have {:.2f} of the default's speed on {}", from.mcpu, *gain,
                       to_string(core_kind(target_)));
  }

  const Workload& workload_;
  const Target& target_;
  const bool takes_all_;
  std::string left_out_;  // why, of the nearest one
};

std::string other_threads_text(const Target& tuned, const Target& built) {
  return fmt::format("tuned for {} thread{}, this build has {}", tuned.threads, tuned.threads == 1 ? "" : "s",
                     built.threads);
}

// Rows that are known for a workload but not taken, and the reasons.
class Refusals {
 public:
  Refusals(const Target& target, const Space& space) : target_(target), space_(space) {}

  // A row that has no config for this build; `is_own`: of this very target.
  void add(const db::BestRow& row, bool is_own) {
    if (is_own) {
      ++own_rows_;
      spaces_.insert(short_hash(row.space));
    } else if (why_.empty()) {
      const bool is_other_revision =
          row.template_name != space_.template_name() || row.template_revision != space_.revision();
      const auto theirs = known_target(row.target);
      if (is_other_revision)
        why_ = fmt::format("tuned with revision {} of {}, this build has {} of {}", row.template_revision,
                           clean_line(row.template_name), space_.revision(), space_.template_name());
      else if (theirs)
        why_ = difference(*theirs);
    }
  }

  // Other targets that it was tuned for.
  void add_known(const std::vector<std::string>& targets) {
    for (const std::string& text : targets)
      if (const auto theirs = known_target(text); theirs && elsewhere_.empty()) elsewhere_ = difference(*theirs);
  }

  // A line on the rows for this very target; empty when there are none.
  std::string other_spaces() const {
    if (own_rows_ == 0) return "";
    return fmt::format("skipped {} record{} of other spaces or versions ({}); this space is {}", own_rows_,
                       own_rows_ == 1 ? "" : "s", clean_line(fmt::format("{}", fmt::join(spaces_, ", "))),
                       short_hash(space_.fingerprint().hex()));
  }

  // Why the default is built although rows are known; `left_out`: the reason by the rule of transfers.
  std::string why(const std::string& left_out) const {
    return !why_.empty() ? why_ : !left_out.empty() ? left_out : elsewhere_;
  }

 private:
  // The most telling difference between the other rows' target and the build's, in words.
  std::string difference(const Target& theirs) const {
    if (theirs.arch != target_.arch)
      return fmt::format("tuned for {}, this build is for {}", theirs.arch, target_.arch);
    if (theirs.mcpu != target_.mcpu)
      return fmt::format("tuned for {}, this build is for {}", theirs.mcpu, target_.mcpu);
    if (theirs.threads != target_.threads) return other_threads_text(theirs, target_);
    return fmt::format("tuned for {}, this build is for {}", to_string(theirs), to_string(target_));
  }

  const Target& target_;
  const Space& space_;
  size_t own_rows_ = 0;
  std::set<std::string> spaces_;  // of these
  std::string why_, elsewhere_;
};

// As rank_nearest(), behind the layer without the preprocessing that is part of this one.
std::vector<std::string> plain_layer_first(const Workload& w, const std::vector<std::string>& known) {
  std::vector<std::string> out = rank_nearest(w, known);
  if (const auto plain = without_preprocessing(w))
    if (const std::string text = to_string(*plain); std::find(known.begin(), known.end(), text) != known.end())
      out.insert(out.begin(), text);
  return out;
}

// A lookup for a build, with all that decides which rows it takes. The query refers to this.
class BuildLookup {
 public:
  BuildLookup(const Workload& w, const Target& target, const Space& space, ConfigUse use, Transfer transfer)
      : tuned_(without_extremes(w)),
        text_(to_string(tuned_)),
        target_(target),
        space_(space),
        refusals_(target, space),
        rule_(tuned_, target, transfer) {
    query.workload = text_;
    query.target = to_string(target);
    query.in_model = use == ConfigUse::kInModel;
    query.accept = [this](const db::BestRow& row) {
      const bool is_taken = config_of(row).has_value();
      if (!is_taken && row.workload == text_) refusals_.add(row, row.target == query.target);
      return is_taken;
    };
    query.rank_targets = [this](const std::vector<std::string>& known, db::LookupStep step) {
      if (step == db::LookupStep::kOtherTarget) refusals_.add_known(known);
      return rule_.worth_taking(target_.is_gpu() ? rank_gpu_targets(target_, known) : rank_cpu_targets(target_, known),
                                step);
    };
    query.rank_nearest = [this](const std::vector<std::string>& known) { return plain_layer_first(tuned_, known); };
  }

  std::optional<Config> config_of(const db::BestRow& row) const {
    if (row.target == query.target && row.workload == text_) return own_config(space_, row);
    const auto theirs = known_target(row.target);
    const bool other_threads = !target_.is_gpu() && theirs && theirs->threads != target_.threads;
    const bool is_same_space = row.workload == text_ && row.space == space_.fingerprint().hex() && !other_threads;
    return is_same_space ? own_config(space_, row) : adapted_config(space_, row, other_threads);
  }

  ChosenConfig chosen(const db::LookupAnswer& answer) const {
    ChosenConfig out{space_.default_config(), answer.describe(), refusals_.other_spaces()};
    if (answer.row) {
      out.config = *config_of(*answer.row);
      out.source += fmt::format("; {}", to_string(answer.confidence));
      out.source += rule_.expectation(answer);
      const auto theirs = known_target(answer.row->target);
      if (theirs && !target_.is_gpu() && theirs->mcpu == target_.mcpu && theirs->threads != target_.threads)
        out.source += "; " + other_threads_text(*theirs, target_);
    } else if (!answer.held_back.empty()) {
      out.held_back = to_string(answer.held_back_confidence);
      out.source += fmt::format(" (less than --min-confidence asks for, {}: {})", out.held_back, answer.held_back);
    } else if (const std::string why = refusals_.why(rule_.left_out()); !why.empty()) {
      out.source += fmt::format(" ({})", why);
    }
    out.is_choice = answer.is_choice;
    out.row = answer.row;
    out.owner = answer.owner;
    if (answer.row) out.from = answer.source;
    out.confidence = to_string(answer.row ? answer.confidence : db::Confidence::kDefault);
    return out;
  }

  // The observer's reasons; `most_far`: how many workloads that are not near it is told of.
  void explain(size_t most_far) {
    query.why_refused = [this](const db::BestRow& row) { return why_refused(row); };
    query.why_not_target = [this](const std::string& target, db::LookupStep step) {
      return rule_.why_not(target, step);
    };
    query.rank_nearest = [this, most_far](const std::vector<std::string>& known) {
      std::vector<std::string> near = plain_layer_first(tuned_, known);
      for (const std::string& text : rank_nearest(tuned_, known, INFINITY)) {
        if (far_.size() >= most_far) break;
        if (std::find(near.begin(), near.end(), text) == near.end()) far_.insert(text);
      }
      return near;
    };
    query.why_not_near = [this](const std::string& text) -> std::string {
      if (!far_.contains(text)) return "";
      const double distance = std::fmod(workload_distance(tuned_, Workload::parse_of(tuned_.op, text)), kOtherChain);
      return fmt::format("its shapes are {:.2f} away; {:.2f} is near", distance, kNearestDistance);
    };
  }

  db::LookupQuery query;

 private:
  std::string why_refused(const db::BestRow& row) const {
    if (row.template_name != space_.template_name() || row.template_revision != space_.revision())
      return fmt::format("tuned with revision {} of {}, this build has {} of {}", row.template_revision,
                         clean_line(row.template_name), space_.revision(), space_.template_name());
    if (row.workload == text_ && row.target == query.target && row.space != space_.fingerprint().hex())
      return fmt::format("of space {}, this build's is {}", short_hash(row.space),
                         short_hash(space_.fingerprint().hex()));
    return "its config is none of this build's space";
  }

  const Workload tuned_;
  const std::string text_;
  const Target& target_;
  const Space& space_;
  Refusals refusals_;
  TransferRule rule_;
  std::set<std::string> far_;
};

}  // namespace

StatusOr<ChosenConfig> choose_config(const Workload& w, const Target& target, const Space& space, db::TopHub& hub,
                                     ConfigUse use, Transfer transfer) {
  const BuildLookup lookup(w, target, space, use, transfer);
  HONE_ASSIGN_OR_RETURN(const db::LookupAnswer answer, hub.best(lookup.query));
  return lookup.chosen(answer);
}

StatusOr<std::vector<db::Candidate>> candidates(const Workload& w, const Target& target, const Space& space,
                                                db::TopHub& hub, ConfigUse use, size_t most_far) {
  std::vector<db::Candidate> out;
  BuildLookup lookup(w, target, space, use, Transfer::kMeasuredToGain);
  lookup.explain(most_far);
  lookup.query.observe = [&](const db::Candidate& candidate) { out.push_back(candidate); };
  HONE_RETURN_IF_ERROR(hub.best(lookup.query).status());
  return out;
}

namespace {

std::optional<db::BestRow> exact_best_of(const Workload& w, const Target& target, db::TopHub& hub,
                                         const std::function<bool(const db::BestRow&)>& wanted,
                                         bool no_strangers = false) {
  db::LookupQuery query;
  query.no_strangers = no_strangers;
  query.workload = to_string(without_extremes(w));
  query.target = to_string(target);
  // No other target's.
  query.rank_targets = [](const std::vector<std::string>&, db::LookupStep) { return std::vector<std::string>(); };
  std::string space;  // made for a row that may be the one
  query.accept = [&](const db::BestRow& row) {
    if (row.workload != query.workload || row.target != query.target || !wanted(row)) return false;
    try {
      if (space.empty()) space = make_space(w, target).fingerprint().hex();
    } catch (const UserError&) {  // no template has it
      return false;
    }
    return row.space == space;
  };
  const auto answer = hub.best(query);
  return answer.ok() ? answer->row : std::nullopt;
}

}  // namespace

std::optional<db::BestRow> exact_best(const Workload& w, const Target& target, db::TopHub& hub) {
  return exact_best_of(w, target, hub, [](const db::BestRow&) { return true; });
}

std::optional<double> measured_seconds(const Workload& w, const Target& target, db::TopHub& hub) {
  const auto best = exact_best_of(
      w, target, hub, [](const db::BestRow& r) { return r.confirmed && !r.disturbed; }, /*no_strangers=*/true);
  return best ? std::optional(best->seconds) : std::nullopt;
}

}  // namespace hone
