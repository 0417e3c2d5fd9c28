#include "tuner/cli/confirm_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/time_text.h"

namespace hone {

OrderedJson json_of(const Confirmations& c) {
  OrderedJson confirmed = OrderedJson::array();
  for (const ConfirmedTask& t : c.tasks)
    confirmed.push_back({{"workload", t.workload},
                         {"weight", t.weight},
                         {"known_ms", t.seconds * 1e3},
                         {"default_ms", t.default_seconds * 1e3},
                         {"taken", t.is_known_taken ? "known" : "default"}});
  return {{"known", c.known}, {"confirmed", std::move(confirmed)}, {"failed", c.failed}, {"left", c.left()}};
}

std::string to_string(const Confirmations& c) {
  if (c.known == 0) return "nothing to confirm: no config is known from elsewhere that was not measured here\n";
  size_t longest = 0;
  for (const ConfirmedTask& t : c.tasks) longest = std::max(longest, t.label.size());
  std::string text;
  size_t taken = 0;
  double log_gain = 0;
  for (const ConfirmedTask& t : c.tasks) {
    text += fmt::format("{:{}}  known {} ms, default {} ms: the {} is taken\n", t.label, longest, ms_text(t.seconds),
                        ms_text(t.default_seconds), t.is_known_taken ? "known one" : "default");
    if (t.is_known_taken) ++taken, log_gain += std::log(t.default_seconds / t.seconds);
  }
  text += fmt::format("{} of {} configs from elsewhere measured here: {} taken", c.tasks.size(), c.known, taken);
  if (taken > 0)
    text +=
        fmt::format(" ({:.2f}x the default in the geometric mean)", std::exp(log_gain / static_cast<double>(taken)));
  text += fmt::format(", {} not faster", c.tasks.size() - taken);
  if (c.failed > 0) text += fmt::format("; {} could not be measured here", c.failed);
  if (c.left() > 0) text += fmt::format("; {} left", c.left());
  return text + "\n";
}

}  // namespace hone
