// Mutations of any protobuf message by reflection, as libprotobuf-mutator makes them: most keep the message
// well-formed.
#pragma once

#include <google/protobuf/message.h>

#include <random>
#include <span>
#include <string>

namespace hone::fuzz {

/// Changes `m` in one to four places: fields set, cleared, copied from elsewhere in the message, elements added,
/// doubled, dropped, swapped. Texts and bytes are often one of `words`, so that names and ids meet. The same for the
/// same generator state.
void mutate(google::protobuf::Message* m, std::mt19937_64& rng, std::span<const std::string> words);

}  // namespace hone::fuzz
