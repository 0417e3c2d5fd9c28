#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewrite_layouts.h"

namespace hone {

Graph choose_layouts(const Graph& g, const PassContext& context) { return rewrite_layouts(g, context).graph; }

}  // namespace hone
