#include "compiler/driver/model_request.h"

#include <utility>

#include "compiler/model/prepare.h"

namespace hone {

ModelRequest request_of(const ModelWords& w, size_t thread_counts) {
  ModelRequest out{w.model, model_bindings(w.bind, w.shapes, thread_counts, w.bind_data, w.model_batch),
                   input_formats(w.formats)};
  if (!w.cache.empty()) out.cache = cache_option(w.cache);
  out.sums_in_f16 = !w.accumulate.empty();
  return out;
}

ReadModel read_model(const ModelRequest& request, const ModelBinding& binding, const OperatorTable& operators,
                     const RewriteImported& quantize) {
  if (request.cache) {
    auto read = std::make_shared<GrowingModel>(with_input_formats(
        import_growing(request.path, operators, binding.options, *request.cache), request.formats, operators));
    std::vector<std::string> notes = read->model.notes;
    return {{}, std::move(read), std::move(notes)};
  }
  OnnxModel model = import_onnx(request.path, operators, binding.options);
  Graph graph = with_input_formats(std::move(model.graph), request.formats, operators);
  if (quantize) graph = quantize(graph);
  return {std::move(graph), nullptr, std::move(model.notes)};
}

Graph prepare(ReadModel model, const PassContext& context, const Target& target, const PassHooks<Graph>& hooks) {
  return model.growing ? prepare_growing(*model.growing, context, target, hooks)
                       : prepare_graph(std::move(model.graph), context, target, hooks);
}

}  // namespace hone
