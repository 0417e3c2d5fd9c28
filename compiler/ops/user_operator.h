// Operators that users define, each with a template of its own: made while a program runs, as workloads like any other.
// Whatever searches, measures, stores and looks up knows workloads alone.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ops/definition.h"
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

/// Its template; null for an operator of Hone's.
const UserTemplate* user_template(const Workload& w);

/// The text that the workload's `def` is the hash of; empty for an operator of Hone's.
std::string_view user_definition(const Workload& w);

/// `matmul m=64,n=64`: its name and attributes, without the hash.
std::string user_label(const Workload& w);

}  // namespace hone
