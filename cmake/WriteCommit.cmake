# Writes the C++ file that knows the commit of a work tree, or of an archive that git made of one:
#
#     cmake -DOUTPUT=commit.cc -DSOURCE=FOLDER -DGIT=/usr/bin/git -P WriteCommit.cmake
#
# The file is touched only when the commit is another one.
set(commit "")
if(GIT AND EXISTS ${SOURCE}/.git)  # a folder's own: an archive may lie in the work tree of another project
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=7 HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit AND EXISTS ${SOURCE}/cmake/archived_commit.txt)  # which has a commit in an archive alone
  file(STRINGS ${SOURCE}/cmake/archived_commit.txt commit LIMIT_COUNT 1)
  string(SUBSTRING "${commit}" 0 7 commit)
endif()
if(NOT commit MATCHES "^[0-9a-f]+$")
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "// Made by cmake/WriteCommit.cmake.
#include \"base/version/commit.h\"

namespace hone {

const char* built_commit() { return \"${commit}\"; }

}  // namespace hone
")
