// Steps as text that programs read: how a schedule that was made elsewhere comes here, by its replay.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/step.h"

namespace hone {

/// `[["split",[0,16]],["cache_read",[1,2],"A"]]`: one line of JSON. Steps' texts for people are left out.
std::string steps_to_text(const std::vector<Step>& steps);

/// Reverses steps_to_text(). UserError, one line, for anything else; that the steps fit a schedule is seen when they
/// are replayed.
std::vector<Step> steps_from_text(std::string_view text);

/// The primitive's name there: `split`, `annotate_loop`.
std::string_view name_of(Primitive p);

}  // namespace hone
