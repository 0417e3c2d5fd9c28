// Declares the commit, which a generated file defines (cmake/WriteCommit.cmake).
#pragma once

namespace hone {

/// The commit of the work tree when this was built, in seven digits or more; "unknown" where there was none.
const char* built_commit();

}  // namespace hone
