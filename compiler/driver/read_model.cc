#include "compiler/driver/read_model.h"

#include <utility>

#include "compiler/frontend/model_reader.h"
#include "compiler/model/prepare.h"

namespace hone {

ModelReader::ModelReader(const ModelRequest& request, const PassContext& context, const Target& here,
                         const Events& events)
    : request_(request), operators_(context.operators), events_(events) {
  if (!request.quantize.type.empty()) quantizer_.emplace(request, context, here, events);
}

ReadModel ModelReader::read(const ModelBinding& binding) {
  ReadModel out;
  std::vector<std::string> notes;
  if (request_.cache) {
    auto read = std::make_shared<GrowingModel>(
        with_input_formats(import_growing_model(request_.model, operators_, binding.options, *request_.cache),
                           request_.formats, operators_));
    notes = read->model.notes;
    out.growing = std::move(read);
  } else {
    ImportedModel model = import_model(request_.model, operators_, binding.options);
    out.graph = with_input_formats(std::move(model.graph), request_.formats, operators_);
    if (quantizer_) out.graph = quantizer_->quantize(out.graph);
    notes = std::move(model.notes);
  }
  for (const std::string& note : notes)
    if (assumed_.insert(note).second) events_.tell("assumed: " + note);
  return out;
}

Graph prepare(ReadModel model, const PassContext& context, const Target& target, const PassHooks<Graph>& hooks) {
  return model.growing ? prepare_growing(*model.growing, context, target, hooks)
                       : prepare_graph(std::move(model.graph), context, target, hooks);
}

}  // namespace hone
