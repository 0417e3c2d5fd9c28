#include "rpc/agent/sandbox/file_rules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "rpc/agent/sandbox/sandbox.h"

namespace hone::agent {
namespace {

// The kernel's headers may be older than the kernel: its ABI version is asked for at run time, and these are the names
// that came later.
constexpr uint64_t kRefer = uint64_t{1} << 13, kTruncate = uint64_t{1} << 14, kIoctlDevice = uint64_t{1} << 15;
constexpr uint64_t kBindTcp = 1, kConnectTcp = 2;
constexpr uint64_t kScopeAbstractSockets = 1, kScopeSignals = 2;
struct RulesetAttributes {
  uint64_t files = 0, network = 0, scopes = 0;
};

constexpr uint64_t kReadRights =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr uint64_t kWriteRights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
                                  LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_DIR | kRefer | kTruncate;
constexpr uint64_t kDeviceRights =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE | kIoctlDevice;
constexpr uint64_t kRewriteRights = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
// Rights on a file itself; the others are a folder's.
constexpr uint64_t kFileRights = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                                 LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kIoctlDevice;

uint64_t known_rights(int abi) {
  uint64_t rights = (uint64_t{1} << 13) - 1;
  if (abi >= 2) rights |= uint64_t{1} << 13;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kIoctlDevice;
  return rights;
}

void allow(int ruleset, int fd, uint64_t rights) {
  struct stat info {};
  landlock_path_beneath_attr rule{};
  rule.allowed_access = fstat(fd, &info) == 0 && S_ISDIR(info.st_mode) ? rights : rights & kFileRights;
  rule.parent_fd = fd;
  syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

void allow(int ruleset, const char* path, uint64_t rights) {
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return;
  allow(ruleset, fd, rights);
  close(fd);
}

// The folder of the libc that is loaded. Libraries that drivers load later (libcuda: libpthread, librt, libdl) must
// match it, and in a bundle it need not lie where distributions put theirs.
std::string libc_folder() {
  Dl_info libc{};
  if (dladdr(reinterpret_cast<const void*>(&gnu_get_libc_version), &libc) == 0 || !libc.dli_fname) return "";
  const std::string path = libc.dli_fname;
  return path.starts_with('/') ? path.substr(0, path.rfind('/')) : "";
}

}  // namespace

int landlock_abi() {
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

FileRules::FileRules(const SandboxProfile& profile, const std::string& scratch,
                     const std::vector<std::string>& more_reads) {
  const int abi = landlock_abi();
  if (abi == 0 || kSanitizer) return;
  RulesetAttributes attributes;
  attributes.files = known_rights(abi);
  if (abi >= 4) attributes.network = kBindTcp | kConnectTcp;
  if (abi >= 6) attributes.scopes = kScopeAbstractSockets | kScopeSignals;
  const size_t size = abi >= 6 ? sizeof attributes : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
  fd_ = static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  if (fd_ < 0) return;
  for (const char* path : profile.reads) allow(fd_, path, kReadRights & attributes.files);
  if (const std::string folder = libc_folder(); !folder.empty())
    allow(fd_, folder.c_str(), kReadRights & attributes.files);
  for (const std::string& path : more_reads) allow(fd_, path.c_str(), kReadRights & attributes.files);
  for (const char* path : profile.devices) allow(fd_, path, kDeviceRights & attributes.files);
  if (profile.may(SyscallGroup::kDevice)) {
    thread_rights_ = kRewriteRights & attributes.files;
    if (profile.role == SandboxRole::kRunner) allow(fd_, "/proc", thread_rights_);
  }
  if (!scratch.empty())
    allow(fd_, scratch.c_str(), (profile.writes_scratch ? kWriteRights : kReadRights) & attributes.files);
}

FileRules::~FileRules() {
  if (fd_ >= 0) close(fd_);
}

bool FileRules::apply() const {
  if (fd_ < 0) return false;
  if (thread_rights_ != 0) {
    // Landlock's rule holds for an inode, and procfs drops unused inodes: the descriptor stays open.
    const int threads = open("/proc/self/task", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (threads >= 0) allow(fd_, threads, thread_rights_);
  }
  return syscall(SYS_landlock_restrict_self, fd_, 0) == 0;
}

}  // namespace hone::agent
