// A model's file: imported, then verified, printed and read again.
#include "compiler/frontend/onnx/import.h"
#include "tests/fuzz/graph/imported_file.h"
#include "tests/fuzz/graph/target.h"

namespace hone::fuzz {

void run_onnx(std::string_view bytes) { run_imported(bytes, &import_onnx); }

}  // namespace hone::fuzz
