// Objects to shared objects with LLVM's own linker, in process: a device needs no binutils.
#include <lld/Common/Driver.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <set>

#include "compiler/codegen/llvm/compile.h"

LLD_HAS_DRIVER(elf)

namespace hone {
namespace {

// An object as a file without a name, since lld reads paths only: nothing stays behind when the process is killed.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& contents) : fd_(memfd_create("hone-object", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(fd_)) {
    HONE_USER_CHECK(fd_ >= 0) << "cannot make a file in memory: " << strerror(errno);
    for (size_t done = 0; done < contents.size();) {
      const ssize_t n = write(fd_, contents.data() + done, contents.size() - done);
      if (n < 0 && errno == EINTR) continue;
      HONE_USER_CHECK(n > 0) << "cannot write a file in memory: " << strerror(errno);
      done += static_cast<size_t>(n);
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  ~MemoryFile() { close(fd_); }
  const char* path() const { return path_.c_str(); }

 private:
  const int fd_;
  const std::string path_;
};

// The mathematical library, so that an artifact with exp or tanh in it loads from any program; where it is installed.
std::string libm_path() {
  for (const char* path : {"/lib/x86_64-linux-gnu/libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6", "/lib64/libm.so.6", "/usr/lib/libm.so.6"})
    if (access(path, R_OK) == 0) return path;
  return "";
}

// Whether a symbol stays undefined when the objects are put together. What cannot be read is left to the linker to complain about.
bool need_others(const std::vector<std::string>& objects) {
  std::set<std::string> defined, undefined;
  for (const std::string& object : objects) {
    auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
    if (!file) {
      llvm::consumeError(file.takeError());
      return true;
    }
    for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
      auto flags = symbol.getFlags();
      auto name = symbol.getName();
      if (!flags || !name) {
        llvm::consumeError(flags.takeError());
        llvm::consumeError(name.takeError());
        return true;
      }
      if (!name->empty()) (*flags & llvm::object::SymbolRef::SF_Undefined ? undefined : defined).insert(name->str());
    }
  }
  return !std::includes(defined.begin(), defined.end(), undefined.begin(), undefined.end());
}

}  // namespace

void link_shared(const std::vector<std::string>& objects, const std::string& output_path) {
  static std::mutex one_at_a_time;   // lld keeps global state while it runs
  std::deque<MemoryFile> files;
  for (const std::string& object : objects) files.emplace_back(object);
  std::ofstream probe(output_path, std::ios::binary);
  HONE_USER_CHECK(probe.good()) << "cannot write '" << output_path << "'";
  probe.close();
  std::vector<const char*> args{"ld.lld", "-shared", "--as-needed", "-z", "now", "--threads=1", "-o", output_path.c_str()};
  for (const MemoryFile& f : files) args.push_back(f.path());
  const std::string libm = need_others(objects) ? libm_path() : "";  // reading its thousand symbols is a third of the time
  if (!libm.empty()) args.push_back(libm.c_str());
  std::string out, err;
  llvm::raw_string_ostream out_stream(out), err_stream(err);
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  const lld::Result result = lld::lldMain(args, out_stream, err_stream, {{lld::Gnu, &lld::elf::link}});
  HONE_ICHECK(result.retCode == 0) << "linking '" << output_path << "' failed: " << err.substr(0, 500);
  HONE_ICHECK(result.canRunAgain) << "the linker broke this process: " << err.substr(0, 500);
}

}  // namespace hone
