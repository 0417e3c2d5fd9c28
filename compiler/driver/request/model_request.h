// The request for a model, of command lines, C and Python alike: building and tuning both read this form.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/request/model_words.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/ir/denormals.h"
#include "compiler/model/input_format.h"

namespace hone {

/// Products of bytes instead of f32.
struct QuantizeRequest {
  std::string type;               ///< int8; empty: nothing is quantised
  std::string calibrate;          ///< a folder with samples, or a file of ranges
  std::string range = "min-max";  ///< how ranges are chosen from the samples' values
  std::string ranges;             ///< the file to write them to; empty: none
  std::vector<std::string> keep;  ///< nodes of the model that stay in f32
};

/// An operator, where there is no model.
struct OperatorRequest {
  std::string task;             ///< its name
  std::string args;             ///< its attributes, `k=v,…`; others have their defaults
  std::string workload;         ///< both in one: dense(m=128,n=768,k=768)
  std::string target = "llvm";  ///< also of models; as parse_target() reads it
};

/// compiler/cli/model_flags.h has its flags, tuner/api/request_json.h its members in JSON.
struct ModelRequest {
  std::string model;  ///< path of its file; empty: something else is asked for
  std::vector<BindChoice> bind;
  std::vector<BoundFile> bind_data;
  std::vector<ShapeChoice> shapes;
  int64_t model_batch = 1;             ///< of a model for one image: how many it is built for
  std::vector<InputFormat> formats;    ///< the forms in which callers pass inputs
  std::optional<CacheOption> cache;    ///< its caches grow in place
  std::vector<std::string> operators;  ///< files of definitions of the user's operators (compiler/users)
  std::vector<ReplacedNode> replace;   ///< nodes of the model's in whose place there are such
  /// Answers for operators that no file has (users/user_operators.h); empty: nobody does.
  std::function<std::string(const std::string& question)> define;
  bool sums_in_f16 = false;  ///< of products of f16; else f32 sums them
  QuantizeRequest quantize;
  int optimize = static_cast<int>(OptLevel::kAll);  ///< the level of its passes, an OptLevel
  std::vector<UserPass> passes = {};                ///< of the caller's, between Hone's; command lines have none
  // Members that operators have, too:
  std::optional<Denormals> denormals;  ///< as denormals_for() takes them
  bool assume_finite = false;          ///< NaNs are taken not to occur: results for them are undefined
};

/// Gives passes what a request says of them: `request` outlives the context.
void take_passes(const ModelRequest& request, PassContext& context);

/// The flags that were given, that operators do not have, and that tensorc and tuner have alike: `--bind, --cache`.
/// Empty: none was. `names_definitions`: workloads may be those of users' operators, op(def=HASH), which --operators
/// has.
std::string flags_of_models_alone(const ModelRequest& request, bool names_definitions);

}  // namespace hone
