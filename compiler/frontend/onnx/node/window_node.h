// Nodes with windows or borders (frontend/lowering/window.h).
#pragma once

#include "compiler/frontend/lowering/window.h"
#include "compiler/frontend/onnx/node/node.h"

namespace hone::onnx {

/// The attributes strides and dilations of a kernel of these extents; no pads. UserError where they do not fit.
Window strides_of(const NodeContext& c, const Extents& image, const Extents& kernel);

/// The pads of a Pad node: in front of each axis, then behind each. UserError unless they are known.
Extents pads_of(const NodeContext& c);

}  // namespace hone::onnx
