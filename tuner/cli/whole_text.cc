#include "tuner/cli/whole_text.h"

#include <fmt/format.h>

#include "base/time_text.h"

namespace hone {
namespace {

// A gain below this is noise in either direction.
constexpr double kNoise = 0.01;

}  // namespace

OrderedJson json_of(const WholeModel& w) {
  OrderedJson j = OrderedJson::object();
  if (!w.variant.empty()) j["variant"] = w.variant;
  if (!w.why_not.empty()) {
    j["why_not"] = w.why_not;
    return j;
  }
  j["default_ms"] = w.default_seconds * 1e3;
  if (w.before_seconds > 0) j["before_ms"] = w.before_seconds * 1e3;
  j["tuned_ms"] = w.tuned_seconds * 1e3;
  if (w.is_as_before) j["as_before"] = true;
  if (!w.choices.empty()) j["choices"] = w.choices.size(), j["without_choices_ms"] = w.without_choices * 1e3;
  j["gain"] = w.gain();
  if (w.of_default.is_known()) j["gain_interval"] = {w.of_default.low, w.of_default.high};
  if (w.of_before.is_known())
    j["before_gain"] = w.of_before.ratio, j["before_gain_interval"] = {w.of_before.low, w.of_before.high};
  if (!w.kept.empty()) j["kept"] = w.kept;
  j["agree"] = w.different.empty();
  return j;
}

std::string to_string(const WholeModel& w) {
  const std::string model = w.variant.empty() ? "model" : "model, " + w.variant;
  if (!w.why_not.empty()) return fmt::format("{}: not built and timed as a whole: {}\n", model, w.why_not);
  const std::string before = w.before_seconds > 0 ? fmt::format("before {} ms, ", ms_text(w.before_seconds)) : "";
  const std::string gain =
      w.of_default.is_known() ? ": " + to_string(w.of_default) : fmt::format(" ({:.2f}x)", w.gain());
  std::string text = fmt::format("{}: default {} ms, {}tuned {} ms{}{}\n", model, ms_text(w.default_seconds), before,
                                 ms_text(w.tuned_seconds), w.is_as_before ? " as before" : "", gain);
  if (w.of_before.is_known())
    text += fmt::format("{}: beside what was known before: {}\n", model, to_string(w.of_before));
  if (!w.kept.empty())
    text +=
        fmt::format("{}: what was found is slower inside it, {}: {} workload{} kept {}, with which tensorc builds it\n",
                    model, to_string(w.found), w.choices.size(), w.choices.size() == 1 ? " has" : "s have", w.kept);
  else if (!w.choices.empty())
    text += fmt::format("{}: {} workload{} another config inside it than alone; {} ms without\n", model,
                        w.choices.size(), w.choices.size() == 1 ? " has" : "s have", ms_text(w.without_choices));
  if (!w.different.empty())
    text += fmt::format("{}: tuned and default configs do not give the same: {}\n", model, w.different);
  const auto say_if_slower = [&](const char* than, double seconds, const Ratio& ratio) {
    if (seconds > 0 && (ratio.is_known() ? ratio.is_slower() : w.tuned_seconds * (1 - kNoise) > seconds))
      text += fmt::format("{}: SLOWER tuned than with {}, by {:.0f}%\n", model, than,
                          100 * (w.tuned_seconds / seconds - 1));
  };
  say_if_slower("default configs", w.default_seconds, w.of_default);
  say_if_slower("what was known before", w.before_seconds, w.of_before);
  return text;
}

}  // namespace hone
