#include "tests/fuzz/graph/imported_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "base/check.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/text.h"
#include "tests/fakes/workloads.h"
#include "tests/fuzz/graph/target.h"

namespace hone::fuzz {
namespace {

constexpr size_t kMostBytes = 1 << 14;
constexpr double kMostWork = 1 << 16;
constexpr size_t kMostNodes = 200;

// A file without a name, with a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(memfd_create("model", 0)) {
    if (fd_ < 0 || write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      throw std::runtime_error("memfd");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  const int fd_;
};

}  // namespace

void run_imported(std::string_view bytes, ImportedModel (*read)(const std::string& path, const OperatorTable& operators,
                                                                const ImportOptions& options)) {
  if (bytes.size() > kMostBytes) return;
  const MemoryFile file(bytes);
  Graph g;
  try {
    g = read(file.path(), test_operators(), {.most_work = kMostWork}).graph;
  } catch (const UserError&) {
    return;
  }
  verify(g);
  if (g.nodes.size() > kMostNodes) return;
  const std::string text = to_string(g, 1 << 10);
  if (text.find(" hash ") == std::string::npos)
    require(to_string(parse_graph(test_operators(), text), 1 << 10) == text, "another text", text);
  verify(run_passes(graph_passes({test_operators(), test_functions()}), g));
}

}  // namespace hone::fuzz
