#include "compiler/driver/read_model.h"

#include <utility>

#include "compiler/frontend/model_reader.h"
#include "compiler/model/prepare.h"

namespace hone {

ModelReader::ModelReader(const ModelRequest& request, const PassContext& context, const Target& here,
                         const Events& events)
    : request_(request), operators_(context.operators), events_(events), users_(users_of(request, context.operators)) {
  if (!request.quantize.type.empty()) quantizer_.emplace(request, context, here, events);
}

ReadModel ModelReader::read(const ModelBinding& binding) {
  ReadModel out;
  std::vector<std::string> notes;
  ImportOptions options = binding.options;
  options.users = users_;
  if (request_.cache) {
    GrowingModel model = import_growing_model(request_.model, operators_, options, *request_.cache);
    notes = model.model.notes;
    out.metadata = std::move(model.model.metadata);
    const std::vector<InputFormat> formats = normalized_by(request_.formats, out.metadata);
    out.metadata = with_input_formats(std::move(out.metadata), formats);
    out.growing = std::make_shared<GrowingModel>(with_input_formats(std::move(model), formats, operators_));
  } else {
    ImportedModel model = import_model(request_.model, operators_, options);
    const std::vector<InputFormat> formats = normalized_by(request_.formats, model.metadata);
    out.graph = with_input_formats(std::move(model.graph), formats, operators_);
    out.metadata = with_input_formats(std::move(model.metadata), formats);
    if (quantizer_) out.graph = quantizer_->quantize(out.graph);
    notes = std::move(model.notes);
  }
  const auto tell = [this](const std::string& line) {
    if (told_.insert(line).second) events_.tell(line);
  };
  for (const std::string& note : notes) tell("assumed: " + note);
  for (const std::string& part : out.metadata.left_out) tell("left out of the model's notes: " + part);
  if (users_) {
    const std::vector<std::string> unused = users_->unused_patterns();
    HONE_USER_CHECK(unused.empty()) << "--replace " << unused[0] << ": " << request_.model << " has no such node";
    for (const std::string& name : users_->unused()) tell("no node of the model is " + name);
  }
  return out;
}

Graph prepare(ReadModel model, const PassContext& context, const Target& target, const PassHooks<Graph>& hooks) {
  return model.growing ? prepare_growing(*model.growing, context, target, hooks)
                       : prepare_graph(std::move(model.graph), context, target, hooks);
}

}  // namespace hone
