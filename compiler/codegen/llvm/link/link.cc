// Objects to shared objects with LLVM's own linker, in process: a device needs no binutils.
#include <lld/Common/Driver.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "base/check.h"
#include "base/command_files.h"
#include "base/plain_file.h"
#include "compiler/codegen/llvm/link/link.h"
#include "compiler/codegen/llvm/link/linker_output.h"

LLD_HAS_DRIVER(elf)

namespace hone {
namespace {

// An object as a file without a name, since lld reads paths only: nothing stays behind when the process is killed.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& contents)
      : fd_(memfd_create("hone-object", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(fd_)) {
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

// The kind of an ELF file: class, byte order and machine, as its header has them; empty: not an ELF file.
std::string kind_of_elf(const std::string& begin) {
  if (begin.size() < 20 || begin.compare(0, 4,
                                         "\x7f"
                                         "ELF") != 0)
    return "";
  return begin.substr(4, 2) + begin.substr(18, 2);
}

std::string kind_of_file(const std::string& path) {
  const StatusOr<PlainFile> file = PlainFile::open(path);
  if (!file.ok()) return "";
  const StatusOr<std::string> begin = file->next(20);
  return begin.ok() ? kind_of_elf(*begin) : "";
}

bool is_for_this_machine(const llvm::object::ObjectFile& object) {
  return object.getArch() == llvm::Triple(llvm::sys::getProcessTriple()).getArch();
}

// The architecture in Debian's and GNU's folder names: aarch64-linux-gnu.
std::string folder_of(const llvm::object::ObjectFile& object) {
  const std::string arch =
      object.getArch() == llvm::Triple::x86 ? "i386" : llvm::Triple::getArchTypeName(object.getArch()).str();
  return arch + (object.getArch() == llvm::Triple::arm ? "-linux-gnueabihf" : "-linux-gnu");
}

// The architecture in the names of Debian's cross packages.
std::string debian_name(const llvm::object::ObjectFile& object) {
  switch (object.getArch()) {
    case llvm::Triple::aarch64: return "arm64";
    case llvm::Triple::x86_64: return "amd64";
    case llvm::Triple::arm: return "armhf";
    default: return llvm::Triple::getArchTypeName(object.getArch()).str();
  }
}

// A library that code may call: the artifact names it, so that any program can load the artifact.
struct CalledLibrary {
  const char *file, *package_begin;
  bool (*has)(const std::string& symbol);
};
// Symbols of the C library, which every program has.
bool is_in_libc(const std::string& symbol) {
  static const std::set<std::string> names = {"bcmp",  "memcmp", "memcpy", "memmove", "memset",
                                              "close", "lseek",  "mmap",   "munmap",  "open"};
  return names.contains(symbol);
}
constexpr CalledLibrary kLibraries[] = {
    // F64's exp, log, tanh and erf.
    {"libm.so.6", "libc6-", [](const std::string& symbol) { return !symbol.starts_with('_') && !is_in_libc(symbol); }},
    // F16 of processors that do not know it.
    {"libgcc_s.so.1", "libgcc-s1-", [](const std::string& symbol) { return symbol.starts_with("__"); }},
};

// Path of the library for objects of `kind`; empty: it is not installed.
std::string find_library(const std::string& file, const std::string& kind, const std::string& folder,
                         const std::string& sysroot) {
  std::vector<std::string> places{"/lib/" + folder, "/usr/lib/" + folder, "/lib64", "/usr/lib64", "/lib", "/usr/lib"};
  // Where cross compilers keep their target's libraries.
  if (sysroot.empty()) places.push_back("/usr/" + folder + "/lib");
  for (const std::string& place : places)
    if (std::string path = sysroot + place + "/" + file; kind_of_file(path) == kind) return path;
  return "";
}

// The symbols that are undefined once the objects are linked.
std::set<std::string> undefined_symbols(const std::vector<std::unique_ptr<llvm::object::ObjectFile>>& objects) {
  std::set<std::string> defined, undefined;
  for (const auto& object : objects)
    for (const llvm::object::SymbolRef& symbol : object->symbols()) {
      auto flags = symbol.getFlags();
      auto name = symbol.getName();
      if (flags && name && !name->empty())
        (*flags & llvm::object::SymbolRef::SF_Undefined ? undefined : defined).insert(name->str());
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
    }
  std::erase_if(undefined, [&](const std::string& name) { return defined.contains(name); });
  return undefined;
}

// The libraries to link these objects with. One that is not there is left out for this machine's own code, whose loader
// may have the functions elsewhere (musl's C library has the mathematical ones).
std::vector<std::string> called_libraries(const std::vector<std::string>& texts, const std::string& sysroot) {
  std::vector<std::unique_ptr<llvm::object::ObjectFile>> objects;
  for (const std::string& text : texts) {
    auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(text, "object"));
    if (!object) {
      llvm::consumeError(object.takeError());
      return {};  // the linker will complain about it
    }
    objects.push_back(std::move(*object));
  }
  std::vector<std::string> out;
  const std::set<std::string> undefined = undefined_symbols(objects);
  for (const CalledLibrary& library : kLibraries) {
    std::vector<std::string> called;
    std::copy_if(undefined.begin(), undefined.end(), std::back_inserter(called), library.has);
    if (called.empty()) continue;  // reading a library's thousand symbols is a third of the time
    const std::string folder = folder_of(*objects.front());
    const std::string found = find_library(library.file, kind_of_elf(texts.front()), folder, sysroot);
    if (!found.empty()) out.push_back(found);
    if (!found.empty() || (sysroot.empty() && is_for_this_machine(*objects.front()))) continue;
    const std::string where =
        sysroot.empty()
            ? "installed: install it (Debian: " + (library.package_begin + debian_name(*objects.front())) +
                  "-cross), or name a folder with that system's files with --sysroot"
            : "in " + sysroot + " (lib/" + folder + ", usr/lib/" + folder + ", lib64, usr/lib64, lib, usr/lib)";
    HONE_USER_CHECK(false) << "the code calls " << llvm::join(called, ", ") << " of " << library.file << " for "
                           << folder << ", which is not " << where << "; --emit obj needs none";
  }
  return out;
}

// Links into the file `output_path`, one of `files`; where there are none, the linker maps and writes it itself.
void run_linker(const std::vector<const char*>& flags, const std::string& output_path, FileSet* files) {
  static std::mutex one_at_a_time;  // lld keeps global state while it runs
  std::optional<LinkerOutput> output;
  if (files) output.emplace(output_path, *files);
  std::vector<const char*> args{"ld.lld", "--threads=1", "-o", output ? output->pipe() : output_path.c_str()};
  args.insert(args.end(), flags.begin(), flags.end());
  std::string out, err;
  llvm::raw_string_ostream out_stream(out), err_stream(err);
  {
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    const lld::Result result = lld::lldMain(args, out_stream, err_stream, {{lld::Gnu, &lld::elf::link}});
    HONE_ICHECK(result.retCode == 0) << "linking '" << output_path << "' failed: " << err.substr(0, 500);
    HONE_ICHECK(result.canRunAgain) << "the linker broke this process: " << err.substr(0, 500);
  }
  if (!output) return;
  const Status written = output->end_file();
  HONE_USER_CHECK(written.ok()) << message_of(written);
}

void commit(FileSet& files) {
  const Status placed = files.commit();
  HONE_USER_CHECK(placed.ok()) << message_of(placed);
}

// An artifact's entries must not stand in for functions of the C library that its own code calls.
void refuse_called_names(const LinkOptions& options) {
  if (options.artifact.empty() && options.functions.empty()) return;
  static const std::set<std::string> kMathematics = {"erf", "exp", "log", "tanh"};
  std::vector<std::unique_ptr<llvm::object::ObjectFile>> objects;
  for (const std::string& text : options.threads)
    if (auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(text, "object")))
      objects.push_back(std::move(*object));
    else
      llvm::consumeError(object.takeError());  // the linker will complain about it
  const std::set<std::string> undefined = undefined_symbols(objects);
  const auto refuse = [&](const std::string& name, const char* instead) {
    const bool is_called = is_in_libc(name) || kMathematics.contains(name) || undefined.contains(name);
    HONE_USER_CHECK(!is_called) << "an artifact cannot be called '" << name
                                << "': its code calls the C library's function of that name; give " << instead;
  };
  if (!options.artifact.empty()) refuse(options.artifact, "the file another one");
  for (const std::string& function : options.functions) refuse(function, "the function another one");
}

// `files`: see run_linker().
void link_objects(const std::vector<std::string>& objects, const std::string& output_path, const LinkOptions& options,
                  FileSet* files) {
  refuse_called_names(options);
  const std::vector<std::string> libraries = called_libraries(objects, options.sysroot);
  for (const std::string& library : libraries)
    HONE_USER_CHECK(!is_same_file(library, output_path))
        << output_path << ": the same file as the library " << library << ", which its code calls; name another";
  std::deque<MemoryFile> inputs;
  for (const std::string& object : objects) inputs.emplace_back(object);
  for (const std::string& object : options.threads) {
    // lld keeps its section for this symbol beyond a link: the next one would write to freed memory.
    HONE_ICHECK(object.find("_GLOBAL_OFFSET_TABLE_") == std::string::npos) << "an object asks for the offset table";
    inputs.emplace_back(object);
  }
  // Its own calls stay within it: an artifact may be called like a function of the C library (sin, read), which the
  // process has loaded before.
  std::vector<const char*> args{"-shared", "-Bsymbolic", "-z", "now"};
  if (!options.threads.empty()) args.insert(args.end(), {"-z", "nodelete"});
  const std::string alias = "--defsym=hone_this_artifact=" + options.artifact + "_artifact";
  if (!options.artifact.empty()) args.push_back(alias.c_str());
  const std::string of_library = "--defsym=hone_this_library=" + options.library + "_library";
  if (!options.library.empty()) args.push_back(of_library.c_str());
  for (const MemoryFile& f : inputs) args.push_back(f.path());
  if (!options.threads_library.empty()) args.push_back(inputs.emplace_back(options.threads_library).path());
  args.push_back("--as-needed");
  for (const std::string& library : libraries) args.push_back(library.c_str());
  run_linker(args, output_path, files);
}

}  // namespace

void link_shared(const std::vector<std::string>& objects, const std::string& output_path, const LinkOptions& options) {
  if (options.maps_file) return link_objects(objects, output_path, options, nullptr);
  FileSet files;
  link_shared(objects, output_path, options, files);
  commit(files);
}

void link_shared(const std::vector<std::string>& objects, const std::string& output_path, const LinkOptions& options,
                 FileSet& files) {
  link_objects(objects, output_path, options, &files);
}

void merge_objects(const std::vector<std::string>& objects, const std::string& output_path) {
  FileSet files;
  merge_objects(objects, output_path, files);
  commit(files);
}

void merge_objects(const std::vector<std::string>& objects, const std::string& output_path, FileSet& files) {
  std::deque<MemoryFile> inputs;
  for (const std::string& object : objects) inputs.emplace_back(object);
  std::vector<const char*> args{"-r"};
  for (const MemoryFile& f : inputs) args.push_back(f.path());
  run_linker(args, output_path, &files);
}

}  // namespace hone
