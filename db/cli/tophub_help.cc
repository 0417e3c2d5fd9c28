#include "db/cli/tophub_help.h"

namespace hone::db {

Help tophub_help() {
  return {.does = "Looks after the database of measured configs that the tuner writes and the compiler reads.",
          .examples = {{"tophub best --task dense --args m=128,n=768,k=768 --target llvm", "the best config"}},
          .groups = {{"Commands (each has --help)",
                      {{"best", "print the best config of a workload"},
                       {"why WORKLOAD", "print every row that a build comes across, and why it is taken or not"},
                       {"list", "list the best config of each workload and target"},
                       {"stats", "count what is stored"},
                       {"export FILE", "write the records as JSON lines"},
                       {"import FILE", "add the records of exported files and AutoTVM logs"},
                       {"merge OTHER", "add the records of another tophub"},
                       {"sync", "send a team's tophub what is not there yet"},
                       {"check", "look for damage in the tophub"},
                       {"train", "make a prior, the cost model that a search begins with"},
                       {"pack NAME -o FOLDER", "write a signed package of the records"},
                       {"push FROM TO", "bring a package to a folder or a registry"},
                       {"pull FROM", "install a package whose key is trusted"},
                       {"verify [PLACE]", "check a package, or all that were pulled"},
                       {"diff A B", "say what two lock files differ in"},
                       {"serve", "share a tophub with a team: a service for builds and tuners"}},
                      {}},
                     {"Every command",
                      {{"--db FILE", "the tophub (default: $HONE_DB, else the user's data folder)"},
                       {"--json", "print results as JSON, one object a line"}},
                      {}}}};
}

}  // namespace hone::db
