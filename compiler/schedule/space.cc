#include "compiler/schedule/space.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <set>

#include "base/check.h"
#include "base/key.h"
#include "compiler/ir/expr.h"

namespace hone {
namespace {

// The allowed parts of n: divisors and, if asked, powers of two and small factors, where the tail wastes little.
std::vector<int64_t> factors_of(int64_t n, int64_t limit, const SplitRule& rule) {
  std::set<int64_t> factors;
  for (int64_t d = 1; d <= limit && d * d <= n; ++d)
    if (n % d == 0) {
      factors.insert(d);
      if (n / d <= limit) factors.insert(n / d);
    }
  for (int64_t p = 1; rule.powers_of_two && p <= std::min(n, limit); p *= 2) factors.insert(p);
  // A prime extent has no divisors of use: let tails of small factors in.
  const int64_t all_up_to = std::max<int64_t>(rule.all_up_to, factors.size() <= 3 ? 8 : 0);
  for (int64_t f = 2; f <= std::min({n, limit, all_up_to}); ++f) factors.insert(f);
  const auto wastes = [&](int64_t f) {
    const int64_t covered = ceil_div(n, f) * f;
    return static_cast<double>(covered - n) > rule.max_waste * static_cast<double>(covered);
  };
  std::erase_if(factors, wastes);
  return {factors.begin(), factors.end()};
}

void extend_split(int64_t extent, int parts, const SplitRule& rule, std::vector<int64_t>* inner,
                  std::vector<std::vector<int64_t>>* out) {
  const int depth = static_cast<int>(inner->size());
  if (depth == parts - 1) {
    int64_t product = 1;
    for (int64_t f : *inner) product *= f;
    std::vector<int64_t> choice{ceil_div(extent, product)};
    choice.insert(choice.end(), inner->rbegin(), inner->rend());  // chosen innermost first
    out->push_back(std::move(choice));
    return;
  }
  // Innermost part first: part index counted from the inside.
  int64_t product = 1;
  for (int64_t f : *inner) product *= f;
  const int64_t rest = ceil_div(extent, product);
  const size_t part = static_cast<size_t>(parts - 2 - depth);
  const int64_t limit = part < rule.max_inner.size() ? rule.max_inner[part] : rest;
  for (int64_t f : factors_of(rest, std::min(limit, rest), rule)) {
    inner->push_back(f);
    extend_split(extent, parts, rule, inner, out);
    inner->pop_back();
  }
}

int nearest_choice(const std::vector<std::vector<int64_t>>& choices, const std::vector<int64_t>& prefer) {
  int best = 0;
  double best_distance = INFINITY;
  for (size_t i = 0; i < choices.size(); ++i) {
    double distance = 0;
    for (size_t j = 0; j < prefer.size() && j + 1 < choices[i].size(); ++j)
      distance +=
          std::fabs(std::log2(static_cast<double>(choices[i][j + 1])) - std::log2(static_cast<double>(prefer[j])));
    if (distance < best_distance) best_distance = distance, best = static_cast<int>(i);
  }
  return best;
}

std::string join_numbers(const std::vector<int64_t>& numbers) { return fmt::format("{}", fmt::join(numbers, "x")); }

}  // namespace

std::vector<int64_t> split_factors(int64_t extent, const SplitRule& rule) {
  return factors_of(extent, rule.max_inner.empty() ? extent : std::min(extent, rule.max_inner.back()), rule);
}

std::string Knob::text_of(int choice) const { return join_numbers(choices[static_cast<size_t>(choice)]); }

std::string Knob::word_of(int choice) const {
  const bool has_word = static_cast<size_t>(choice) < words.size() && !words[static_cast<size_t>(choice)].empty();
  return has_word ? words[static_cast<size_t>(choice)] : text_of(choice);
}

std::string to_string(ConfigIndex index) {
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(index % 10)));
    index /= 10;
  } while (index != 0);
  return digits;
}

int Knobs::read(std::string_view name) {
  HONE_ICHECK(next_ < knobs_->size() && (*knobs_)[next_].name == name)
      << "knob '" << name << "' was not declared in this place";
  const size_t at = next_++;
  if (active_) return config_->choices[at];
  idle_.push_back(at);
  return (*knobs_)[at].default_choice;
}

int Knobs::declare(Knob knob) {
  for (const Knob& k : declared_) HONE_ICHECK(k.name != knob.name) << "knob '" << knob.name << "' is declared twice";
  declared_.push_back(std::move(knob));
  return declared_.back().default_choice;
}

Split Knobs::split(std::string_view name, int64_t extent, int parts, const SplitRule& rule) {
  HONE_ICHECK(extent >= 1 && parts >= 1) << "split knob '" << name << "' of extent " << extent << " into " << parts;
  if (mode_ == Mode::kRead) {
    const size_t at = next_;
    const int chosen = read(name);
    return (*knobs_)[at].choices[static_cast<size_t>(chosen)];
  }
  Knob knob{std::string(name), KnobKind::kSplit, {}, 0};
  std::vector<int64_t> inner;
  extend_split(extent, parts, rule, &inner, &knob.choices);
  HONE_ICHECK(!knob.choices.empty()) << "split knob '" << name << "' has no choice";
  knob.default_choice = nearest_choice(knob.choices, rule.prefer);
  knob.for_threads = rule.for_threads;
  Split fallback = knob.choices[static_cast<size_t>(knob.default_choice)];
  declare(std::move(knob));
  return fallback;
}

int64_t Knobs::thread_choice(std::string_view name, const std::vector<int64_t>& choices,
                             std::optional<int64_t> preferred, const ChoiceWords& words) {
  const int64_t chosen = choice(name, choices, preferred, words);
  if (mode_ == Mode::kDeclare) declared_.back().for_threads = true;
  return chosen;
}

int64_t Knobs::choice(std::string_view name, const std::vector<int64_t>& choices, std::optional<int64_t> preferred,
                      const ChoiceWords& words) {
  HONE_ICHECK(!choices.empty()) << "knob '" << name << "' has no choice";
  if (mode_ == Mode::kRead) {
    const size_t at = next_;
    const int chosen = read(name);
    return (*knobs_)[at].choices[static_cast<size_t>(chosen)].front();
  }
  Knob knob{std::string(name), KnobKind::kChoice, {}, 0};
  double best = INFINITY;
  for (int64_t c : choices) {
    const double distance =
        preferred
            ? std::fabs(std::log2(1.0 + static_cast<double>(c)) - std::log2(1.0 + static_cast<double>(*preferred)))
            : 0;
    if (distance < best) best = distance, knob.default_choice = static_cast<int>(knob.choices.size());
    knob.choices.push_back({c});
    if (words.empty()) continue;
    const auto word = std::find_if(words.begin(), words.end(), [&](const auto& w) { return w.first == c; });
    knob.words.emplace_back(word == words.end() ? "" : word->second);
  }
  return choices[static_cast<size_t>(declare(std::move(knob)))];
}

void Knobs::require(std::string_view what, bool holds) {
  if (!active_ || holds || !broken_.empty()) return;
  broken_ = std::string(what);
  broken_at_ = next_;
}

namespace {

// Keeps the choices that `allowed` names; a default that goes is replaced by the nearest choice that stays.
void narrow(Knob& knob, const std::vector<std::string>& allowed) {
  Knob kept{knob.name, knob.kind, {}, 0};
  int nearest = INT_MAX;
  for (int i = 0; i < static_cast<int>(knob.choices.size()); ++i) {
    if (std::find(allowed.begin(), allowed.end(), knob.text_of(i)) == allowed.end() &&
        std::find(allowed.begin(), allowed.end(), knob.word_of(i)) == allowed.end())
      continue;
    if (const int away = std::abs(i - knob.default_choice); away < nearest)
      nearest = away, kept.default_choice = static_cast<int>(kept.choices.size());
    kept.choices.push_back(knob.choices[static_cast<size_t>(i)]);
    if (!knob.words.empty()) kept.words.push_back(knob.words[static_cast<size_t>(i)]);
  }
  HONE_USER_CHECK(!kept.choices.empty()) << "knob '" << knob.name << "' has none of the choices "
                                         << fmt::format("{}", fmt::join(allowed, ", "));
  knob = std::move(kept);
}

}  // namespace

std::vector<Knob> Space::declared(const Declare& declare) {
  Knobs knobs;
  declare(knobs);
  return std::move(knobs.declared_);
}

Settled Space::settled_by(const Declare& declare, const Space& space, const Config& config) {
  Knobs knobs = space.reader(config);
  declare(knobs);
  return {std::move(knobs.idle_), std::move(knobs.broken_), knobs.broken_at_};
}

Space::Space(std::string template_name, int revision, Declare declare, const Narrowing& narrowing)
    : Space(
          std::move(template_name), revision, "", declared(declare),
          [declare](const Space& space, const Config& config) { return settled_by(declare, space, config); },
          narrowing) {}

Space::Space(std::string template_name, int revision, std::string_view program, std::vector<Knob> knobs, Settle settle,
             const Narrowing& narrowing)
    : template_name_(std::move(template_name)), revision_(revision), settle_(std::move(settle)) {
  take(std::move(knobs), program, narrowing);
  default_ = canonical(std::move(default_));
  if (!valid(default_)) repair_default();
}

// The knobs, with what follows from them alone.
void Space::take(std::vector<Knob> knobs, std::string_view program, const Narrowing& narrowing) {
  knobs_ = std::move(knobs);
  for (const auto& [name, allowed] : narrowing) {
    const auto knob = std::find_if(knobs_.begin(), knobs_.end(), [&n = name](const Knob& k) { return k.name == n; });
    HONE_USER_CHECK(knob != knobs_.end()) << "template " << template_name_ << " has no knob '" << name << "'";
    narrow(*knob, allowed);
  }
  std::string identity = fmt::format("{}#{}", template_name_, revision_);
  if (!program.empty()) identity += fmt::format("#{}", program);
  for (const Knob& k : knobs_) {
    HONE_USER_CHECK(size_ < (ConfigIndex{1} << 120) / k.choices.size())
        << "space '" << template_name_ << "' has 2^120 configs or more";
    size_ *= k.choices.size();
    identity += fmt::format("\n{}:{}:", k.name, k.kind == KnobKind::kSplit ? "split" : "choice");
    for (size_t i = 0; i < k.choices.size(); ++i) identity += k.text_of(static_cast<int>(i)) + " ";
    default_.choices.push_back(k.default_choice);
  }
  fingerprint_ = hash_bytes(identity);
}

// The preferred choices break a constraint together. Changes the one knob that repairs this with the smallest step; if
// none does, takes the valid config among many samples that shares most choices with them.
void Space::repair_default() {
  std::optional<Config> best;
  int64_t smallest = INT64_MAX;
  for (size_t k = 0; k < knobs_.size(); ++k) {
    for (int32_t i = 0; i < static_cast<int32_t>(knobs_[k].choices.size()); ++i) {
      const int64_t step = std::abs(i - default_.choices[k]);
      Config c = default_;
      c.choices[k] = i;
      if (step < smallest && settle(&c).empty()) smallest = step, best = c;
    }
  }
  std::mt19937_64 rng(1);
  size_t best_same = 0;
  for (int i = 0; !best || i < (smallest == INT64_MAX ? 200 : 0); ++i) {
    const auto c = sample(rng, 500);
    if (!c) break;
    size_t same = 0;
    for (size_t k = 0; k < knobs_.size(); ++k) same += c->choices[k] == default_.choices[k];
    if (!best || same > best_same) best = c, best_same = same;
  }
  ConfigIndex from = 0;
  if (!best) best = next_valid(&from);
  HONE_USER_CHECK(best) << "space '" << template_name_ << "' has no valid config: '" << broken_constraint(default_)
                        << "' cannot be fulfilled";
  default_ = *best;
}

std::optional<uint64_t> Space::count_valid(uint64_t limit) const {
  if (size_ > limit) return std::nullopt;
  uint64_t n = 0;
  ConfigIndex from = 0;
  while (next_valid(&from)) ++n;
  return n;
}

Config Space::config_at(ConfigIndex index) const {
  HONE_ICHECK(index < size_) << "config index " << to_string(index) << " of " << to_string(size_);
  Config c;
  c.choices.resize(knobs_.size());
  for (size_t k = knobs_.size(); k-- > 0; index /= knobs_[k].choices.size())
    c.choices[k] = static_cast<int32_t>(index % knobs_[k].choices.size());
  return c;
}

ConfigIndex Space::index_of(const Config& config) const {
  HONE_ICHECK(config.choices.size() == knobs_.size()) << "config of another space";
  ConfigIndex index = 0;
  for (size_t k = 0; k < knobs_.size(); ++k)
    index = index * knobs_[k].choices.size() + static_cast<ConfigIndex>(config.choices[k]);
  return index;
}

std::string Space::print(const Config& config) const {
  return text_of(config, [](const Knob& knob, int choice) { return knob.text_of(choice); });
}

std::string Space::describe(const Config& config) const {
  return text_of(config, [](const Knob& knob, int choice) { return knob.word_of(choice); });
}

std::string Space::text_of(const Config& config,
                           const std::function<std::string(const Knob&, int)>& text_of_choice) const {
  Config settled = config;
  std::vector<size_t> idle;
  settle(&settled, &idle);
  std::vector<std::string> out;
  for (size_t k = 0; k < knobs_.size(); ++k) {
    // A knob that does not matter is printed only where its choice is wrong (not the default).
    if (std::binary_search(idle.begin(), idle.end(), k) && config.choices[k] == settled.choices[k]) continue;
    out.push_back(knobs_[k].name + "=" + text_of_choice(knobs_[k], config.choices[k]));
  }
  return absl::StrJoin(out, ",");
}

Config Space::parse(std::string_view text) const {
  const StatusOr<ConfigKey> key = parse_config_key(text);
  HONE_USER_CHECK(key.ok()) << message_of(key.status());
  const auto* given = std::get_if<KeyKnobs>(&*key);
  HONE_USER_CHECK(given) << "config: " << to_string(*key)
                         << ": texts of kernels and kernels of vendors are not supported by this version";
  Config c;
  c.choices.assign(knobs_.size(), -1);
  for (const auto& [name, value] : *given) {
    size_t k = 0;
    while (k < knobs_.size() && knobs_[k].name != name) ++k;
    HONE_USER_CHECK(k < knobs_.size()) << "config: unknown knob '" << name << "'; template " << template_name_
                                       << " has " << absl::StrJoin(knobs_, ", ", [](std::string* out, const Knob& x) {
                                            *out += x.name;
                                          });
    for (size_t i = 0; i < knobs_[k].choices.size(); ++i)
      if (knobs_[k].text_of(static_cast<int>(i)) == value || knobs_[k].word_of(static_cast<int>(i)) == value)
        c.choices[k] = static_cast<int32_t>(i);
    HONE_USER_CHECK(c.choices[k] >= 0) << "config: knob '" << name << "' has no choice '" << value
                                       << "'; the first of its " << knobs_[k].choices.size() << " are " << [&] {
                                            std::string few;
                                            for (size_t i = 0; i < std::min<size_t>(8, knobs_[k].choices.size()); ++i)
                                              few += (i ? ", " : "") + knobs_[k].word_of(static_cast<int>(i));
                                            return few;
                                          }();
  }
  std::vector<size_t> missing;
  for (size_t k = 0; k < knobs_.size(); ++k)
    if (c.choices[k] < 0) missing.push_back(k), c.choices[k] = knobs_[k].default_choice;
  Config settled = c;
  std::vector<size_t> idle;
  settle(&settled, &idle);
  for (size_t k : missing)
    HONE_USER_CHECK(std::binary_search(idle.begin(), idle.end(), k))
        << "config: knob '" << knobs_[k].name << "' is missing";
  for (size_t k : idle)
    HONE_USER_CHECK(c.choices[k] == settled.choices[k])
        << "config: knob '" << knobs_[k].name << "' does not matter beside these choices and must be left out";
  return c;
}

std::optional<Config> Space::adapt(std::string_view text, bool other_threads) const {
  const StatusOr<ConfigKey> key = parse_config_key(text);
  const auto* given = key.ok() ? std::get_if<KeyKnobs>(&*key) : nullptr;
  if (!given) return std::nullopt;
  Config c = default_;
  for (const auto& [name, digits] : *given) {
    std::string_view value = digits;
    std::vector<int64_t> wanted;
    while (!value.empty()) {
      int64_t number = 0;
      const auto end = std::from_chars(value.data(), value.data() + value.size(), number).ptr;
      wanted.push_back(std::max<int64_t>(number, 0));
      value = end < value.data() + value.size() ? value.substr(static_cast<size_t>(end - value.data()) + 1) : "";
    }
    for (size_t k = 0; k < knobs_.size(); ++k) {
      const Knob& knob = knobs_[k];
      if (knob.name != name || wanted.empty() || wanted.size() != knob.choices[0].size()) continue;
      if (other_threads && knob.for_threads) continue;
      double best = INFINITY;
      for (size_t i = 0; i < knob.choices.size(); ++i) {
        double distance = 0;
        // The outermost factor of a split follows from the extent.
        for (size_t j = knob.kind == KnobKind::kSplit ? 1 : 0; j < wanted.size(); ++j)
          distance += std::fabs(std::log2(static_cast<double>(1 + knob.choices[i][j])) -
                                std::log2(static_cast<double>(1 + wanted[j])));
        if (distance < best) best = distance, c.choices[k] = static_cast<int32_t>(i);
      }
    }
  }
  if (!settle(&c).empty()) return std::nullopt;
  return c;
}

Knobs Space::reader(const Config& config) const {
  HONE_ICHECK(config.choices.size() == knobs_.size()) << "config of another space";
  Knobs knobs;
  knobs.mode_ = Knobs::Mode::kRead;
  knobs.knobs_ = &knobs_;
  knobs.config_ = &config;
  return knobs;
}

std::string Space::settle(Config* config, std::vector<size_t>* idle, size_t* broken_at) const {
  Settled s = settled(*config);
  for (size_t k : s.idle) config->choices[k] = knobs_[k].default_choice;
  if (idle) *idle = std::move(s.idle);
  if (broken_at) *broken_at = s.broken_at;
  return std::move(s.broken);
}

Config Space::canonical(Config config) const {
  settle(&config);
  return config;
}

std::vector<size_t> Space::knobs_at_work(const Config& config) const {
  Config settled = config;
  std::vector<size_t> idle, out;
  settle(&settled, &idle);
  for (size_t k = 0; k < knobs_.size(); ++k)
    if (!std::binary_search(idle.begin(), idle.end(), k)) out.push_back(k);
  return out;
}

std::string Space::broken_constraint(const Config& config) const {
  Config settled = config;
  std::string broken = settle(&settled);
  if (!broken.empty() || settled == config) return broken;
  size_t k = 0;
  while (settled.choices[k] == config.choices[k]) ++k;
  return fmt::format("knob '{}' does not matter there and stays at {}", knobs_[k].name,
                     knobs_[k].text_of(settled.choices[k]));
}

std::optional<Config> Space::sample(std::mt19937_64& rng, int tries) const {
  Config c;
  c.choices.resize(knobs_.size());
  for (int t = 0; t < tries; ++t) {
    // std::uniform_int_distribution differs between standard libraries; the modulus does not, and its bias is below
    // 2^-40.
    for (size_t k = 0; k < knobs_.size(); ++k) c.choices[k] = static_cast<int32_t>(rng() % knobs_[k].choices.size());
    if (settle(&c).empty()) return c;
  }
  return std::nullopt;
}

ConfigIndex Space::skip_prefix(ConfigIndex index, size_t knobs) const {
  ConfigIndex run = 1;
  for (size_t k = std::max<size_t>(knobs, 1); k < knobs_.size(); ++k) run *= knobs_[k].choices.size();
  return knobs == 0 ? size_ : (index / run + 1) * run;
}

std::optional<ConfigIndex> Space::skip_idle(ConfigIndex index, const std::vector<size_t>& idle) const {
  // Looks at the first idle knob that is not at its default: forward to its default or, when that lies behind, to the
  // next value of the digits before it.
  const Config c = config_at(index);
  for (size_t k : idle) {
    if (c.choices[k] == knobs_[k].default_choice) continue;
    ConfigIndex stride = 1;
    for (size_t i = k + 1; i < knobs_.size(); ++i) stride *= knobs_[i].choices.size();
    const ConfigIndex radix = knobs_[k].choices.size(), start = index / (stride * radix) * (stride * radix);
    const ConfigIndex next = start + static_cast<ConfigIndex>(knobs_[k].default_choice) * stride;
    const ConfigIndex to = c.choices[k] < knobs_[k].default_choice ? next : start + stride * radix;
    return to < size_ ? std::optional(to) : std::nullopt;
  }
  return index;
}

std::optional<Config> Space::next_valid(ConfigIndex* from, uint64_t most) const {
  for (uint64_t looked = 0; *from < size_ && looked < most; ++looked) {
    Config c = config_at(*from);
    std::vector<size_t> idle;
    const Config as_drawn = c;
    size_t broken_at = 0;
    const bool fulfils = settle(&c, &idle, &broken_at).empty();
    if (c == as_drawn) {
      *from = fulfils ? *from + 1 : skip_prefix(*from, broken_at);
      if (fulfils) return c;
    } else {
      *from = skip_idle(*from, idle).value_or(size_);
    }
  }
  return std::nullopt;
}

}  // namespace hone
