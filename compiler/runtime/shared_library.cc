#include "compiler/runtime/shared_library.h"

#include <dlfcn.h>
#include <link.h>

namespace hone {

StatusOr<SharedLibrary> SharedLibrary::open(const std::vector<std::string>& names) {
  std::string reasons;
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return SharedLibrary(handle, name);
    const char* why = dlerror();
    reasons += (reasons.empty() ? "" : "; ") + std::string(why ? why : name + ": cannot be loaded");
  }
  return absl::NotFoundError(reasons.empty() ? "no library was named" : reasons);
}

void* SharedLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

std::string SharedLibrary::path() const {
  link_map* map = nullptr;
  return dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name ? map->l_name : "";
}

}  // namespace hone
