// Regions of images, and places in them.
#include "compiler/frontend/onnx/lowering.h"
namespace hone::onnx {
void add_region_rows(RowTable&) {}
}  // namespace hone::onnx
