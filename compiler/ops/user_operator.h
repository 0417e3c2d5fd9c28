// Operators that users define, perhaps with a template of their own: made while a program runs, as workloads like any
// other. Whatever searches, measures, stores and looks up knows workloads alone.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ops/definition.h"
#include "compiler/ops/operator.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/space.h"

namespace hone {

/// A template that is none of templates/: it runs elsewhere (a caller's function, perhaps in another language), for one
/// workload on one target. Its functions may be called from several threads, and may throw.
struct UserTemplate {
  std::string name;
  int revision = 1;
  std::string program;  ///< as Space takes it
  std::vector<Knob> knobs;
  Space::Settle settle;
  /// The schedule of a valid config. UserError, one line, where there is none.
  std::function<std::unique_ptr<Schedule>(const Space&, const Config&)> apply;
  /// Says which configs apply() is called with next: many at once may take less. May be empty.
  std::function<void(const Space&, std::span<const Config>)> expect;
};

/// `op(name=NAME,def=HASH,ATTRIBUTES)`: the hash is of the definition's text (definition_text.h), so that it is another
/// workload where anything else is computed; the attributes, texts that its user chose, tell nearest workloads apart.
/// UserError, one line, for a name that is no word or an operator's of Hone's, and for attributes that keys cannot have
/// (docs/keys.md).
Workload user_workload(std::string_view name, const Definition& definition,
                       const std::vector<std::pair<std::string, std::string>>& attributes,
                       std::shared_ptr<const UserTemplate> own);

/// The same without a template of its own: it has the generic ones. The definition becomes known to `operators`, by
/// which Workload::parse() reads the workload's text again. A graph's nodes and their tasks are such.
Workload user_workload(const OperatorTable& operators, std::string_view name, const Definition& definition,
                       const std::vector<std::pair<std::string, std::string>>& attributes);

/// The word of keys for a name as models have it: `my.domain::RotaryPair` is my_domain__RotaryPair. Letters, digits and
/// _ stay, `::` becomes __, any other byte _; and _ stands in front of a digit, and of a word that is an operator of
/// Hone's.
std::string operator_word(std::string_view name);

/// Whether the workload is of an operator that a user defines; whether a workload's text, or an operator's name, is.
bool is_user_operator(const Workload& w);
bool is_user_operator(std::string_view text);

/// Its template; null for an operator of Hone's, and for one with the generic templates.
const UserTemplate* user_template(const Workload& w);

/// The text that the workload's `def` is the hash of; empty for an operator of Hone's.
std::string_view user_definition(const Workload& w);

/// `matmul m=64,n=64`: its name and attributes, without the hash.
std::string user_label(const Workload& w);

}  // namespace hone
