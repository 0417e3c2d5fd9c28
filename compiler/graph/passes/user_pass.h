// Passes that are written by a user, between named ones of Hone's. Nothing that they make is trusted.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/ir/passes.h"

namespace hone {

/// Rewrites a model's graph. Not called from several threads at once.
struct UserPass {
  std::string name;   ///< of letters, digits and _; no other pass's
  std::string place;  ///< the pass that it runs behind: one of Hone's, of the target's or not, an earlier one of the
                      ///< user's, or `import`, the first
  bool is_before = false;  ///< it runs in front of that pass instead
  std::string file;        ///< that it is written in, for commands that are printed; may be empty
  /// The graph that it makes of one. Its exceptions go through.
  std::function<Graph(const Graph&)> run;
};

/// The place of passes that run on a graph as it was read; no pass of a user's has this name.
inline constexpr std::string_view kImport = "import";

/// The graph that the pass makes of `g`, without nodes that nobody reads. UserError, one line with the pass's name,
/// where that has a fault (fault_of), or other inputs or outputs than `g`: their names, types and counted extents stay.
Graph run_checked(const UserPass& pass, const Graph& g);

/// A pass of a list, or the place of one that is not wanted: others may stand beside it.
struct PlacedPass {
  Pass<Graph> pass;
  bool is_wanted = true;
};
/// The wanted passes, and those of the user between them, which must outlive the result. Passes of one place keep their
/// order. UserError for a name that is none or is there already, and for a place that there is not.
std::vector<Pass<Graph>> with_user_passes(std::vector<PlacedPass> passes, const std::vector<UserPass>& own);

}  // namespace hone
