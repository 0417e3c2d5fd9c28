// Objects to shared objects with LLVM's own linker, in process: a device needs no binutils.
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <mutex>

#include "compiler/codegen/llvm/compile.h"

LLD_HAS_DRIVER(elf)

namespace hone {
namespace {

// Objects as files that go away again; lld reads paths only.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* base = getenv("TMPDIR");
    path_ = std::string(base && *base ? base : "/tmp") + "/hone-link-XXXXXX";
    HONE_USER_CHECK(mkdtemp(path_.data())) << "cannot make a temporary folder '" << path_ << "'";
  }
  ~TemporaryFolder() {
    for (const std::string& f : files_) unlink(f.c_str());
    rmdir(path_.c_str());
  }
  const std::string& add(const std::string& contents) {
    files_.push_back(path_ + "/" + std::to_string(files_.size()) + ".o");
    std::ofstream(files_.back(), std::ios::binary).write(contents.data(), static_cast<std::streamsize>(contents.size()));
    return files_.back();
  }
  const std::vector<std::string>& files() const { return files_; }

 private:
  std::string path_;
  std::vector<std::string> files_;
};

// The mathematical library, so that an artifact with exp or tanh in it loads from any program; where it is installed.
std::string libm_path() {
  for (const char* path : {"/lib/x86_64-linux-gnu/libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6", "/lib64/libm.so.6", "/usr/lib/libm.so.6"})
    if (access(path, R_OK) == 0) return path;
  return "";
}

}  // namespace

void link_shared(const std::vector<std::string>& objects, const std::string& output_path) {
  static std::mutex one_at_a_time;   // lld keeps global state while it runs
  TemporaryFolder folder;
  for (const std::string& object : objects) folder.add(object);
  std::ofstream probe(output_path, std::ios::binary);
  HONE_USER_CHECK(probe.good()) << "cannot write '" << output_path << "'";
  probe.close();
  std::vector<const char*> args{"ld.lld", "-shared", "--as-needed", "-z", "now", "--threads=1", "-o", output_path.c_str()};
  for (const std::string& f : folder.files()) args.push_back(f.c_str());
  const std::string libm = libm_path();
  if (!libm.empty()) args.push_back(libm.c_str());
  std::string out, err;
  llvm::raw_string_ostream out_stream(out), err_stream(err);
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  const lld::Result result = lld::lldMain(args, out_stream, err_stream, {{lld::Gnu, &lld::elf::link}});
  HONE_ICHECK(result.retCode == 0) << "linking '" << output_path << "' failed: " << err.substr(0, 500);
  HONE_ICHECK(result.canRunAgain) << "the linker broke this process: " << err.substr(0, 500);
}

}  // namespace hone
