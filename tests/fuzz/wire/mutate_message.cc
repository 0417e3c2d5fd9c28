#include "tests/fuzz/wire/mutate_message.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

namespace hone::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kDeepest = 8;
constexpr int kMostElements = 400;  // so that a script stays quick

struct Place {
  Message* message;
  const FieldDescriptor* field;
};

class Mutation {
 public:
  Mutation(std::mt19937_64& rng, std::span<const std::string> words) : rng_(rng), words_(words) {}

  void change(Message* root) {
    std::vector<Place> places;
    collect(root, 0, &places);
    if (places.empty()) return;
    const Place place = places[below(places.size())];
    if (place.field->is_repeated())
      change_repeated(place);
    else if (below(4) == 0)
      place.message->GetReflection()->ClearField(place.message, place.field);
    else
      set(place, places);
  }

 private:
  size_t below(size_t n) { return rng_() % n; }

  // Every field that a message in the tree has or could have; those that are set count more.
  void collect(Message* m, int depth, std::vector<Place>* places) {
    const Reflection& r = *m->GetReflection();
    for (int i = 0; i < m->GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor* f = m->GetDescriptor()->field(i);
      places->push_back({m, f});
      const bool there = f->is_repeated() ? r.FieldSize(*m, f) > 0 : !f->containing_oneof() || r.HasField(*m, f);
      if (!there) continue;
      places->insert(places->end(), 3, {m, f});
      if (f->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || f->is_map() || depth >= kDeepest) continue;
      if (!f->is_repeated()) {
        if (r.HasField(*m, f)) collect(r.MutableMessage(m, f), depth + 1, places);
      } else {
        for (int e = 0; e < std::min(r.FieldSize(*m, f), 64); ++e)
          collect(r.MutableRepeatedMessage(m, f, e), depth + 1, places);
      }
    }
  }

  uint64_t number() {
    switch (below(6)) {
      case 0: return below(4);
      case 1: return below(300);
      case 2: return uint64_t{1} << below(64);
      case 3: return (uint64_t{1} << below(64)) - 1;
      case 4: return std::numeric_limits<uint64_t>::max() - below(3);
      default: return rng_();
    }
  }
  double real() {
    constexpr double kOdd[] = {0,
                               -0.0,
                               1,
                               -1,
                               1e-300,
                               1e300,
                               0.001,
                               3,
                               60,
                               1e18,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::denorm_min()};
    return below(3) == 0 ? std::ldexp(static_cast<double>(rng_()), static_cast<int>(below(128)) - 64)
                         : kOdd[below(std::size(kOdd))];
  }
  std::string text(const std::string& old) {
    const size_t kind = below(8);
    if (kind < 4 && !words_.empty()) return words_[below(words_.size())];
    std::string out = old;
    if (kind == 4) return std::string(below(300), static_cast<char>('a' + below(26)));
    if (kind == 5 && !out.empty()) return out.substr(0, below(out.size()));
    if (kind == 6) return out + static_cast<char>(below(128));
    if (!out.empty()) out[below(out.size())] = static_cast<char>(below(128));  // text fields must stay UTF-8
    return out;
  }

  void set(const Place& p, const std::vector<Place>& places) {
    Message* m = p.message;
    const FieldDescriptor* f = p.field;
    const Reflection& r = *m->GetReflection();
    switch (f->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32: return r.SetInt32(m, f, static_cast<int32_t>(number()));
      case FieldDescriptor::CPPTYPE_INT64: return r.SetInt64(m, f, static_cast<int64_t>(number()));
      case FieldDescriptor::CPPTYPE_UINT32: return r.SetUInt32(m, f, static_cast<uint32_t>(number()));
      case FieldDescriptor::CPPTYPE_UINT64: return r.SetUInt64(m, f, number());
      case FieldDescriptor::CPPTYPE_DOUBLE: return r.SetDouble(m, f, real());
      case FieldDescriptor::CPPTYPE_FLOAT: return r.SetFloat(m, f, static_cast<float>(real()));
      case FieldDescriptor::CPPTYPE_BOOL: return r.SetBool(m, f, below(2) == 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return r.SetEnumValue(m, f, static_cast<int>(below(3) == 0 ? number() : below(12)));
      case FieldDescriptor::CPPTYPE_STRING: return r.SetString(m, f, text(r.GetString(*m, f)));
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        // A copy from another place of the same type, taken first: setting one member of a oneof frees the others.
        std::unique_ptr<Message> copy;
        if (const Message* other = another(places, f); other && below(2) == 0) {
          copy.reset(other->New());
          copy->CopyFrom(*other);
        }
        Message* target = r.MutableMessage(m, f);
        if (copy)
          target->CopyFrom(*copy);
        else
          change(target);
        return;
      }
    }
  }

  const Message* another(const std::vector<Place>& places, const FieldDescriptor* f) {
    std::vector<const Message*> found;
    for (const Place& p : places)
      if (p.message->GetDescriptor() == f->message_type()) found.push_back(p.message);
    return found.empty() ? nullptr : found[below(found.size())];
  }

  void change_repeated(const Place& p) {
    Message* m = p.message;
    const FieldDescriptor* f = p.field;
    const Reflection& r = *m->GetReflection();
    const int size = r.FieldSize(*m, f);
    const size_t kind = below(6);
    if (size > 0 && kind == 0) return r.RemoveLast(m, f);
    if (size > 1 && kind == 1)
      return r.SwapElements(m, f, static_cast<int>(below(static_cast<size_t>(size))),
                            static_cast<int>(below(static_cast<size_t>(size))));
    if (size > 0 && kind == 2) {  // drop one in the middle
      for (int i = static_cast<int>(below(static_cast<size_t>(size))); i + 1 < size; ++i)
        r.SwapElements(m, f, i, i + 1);
      return r.RemoveLast(m, f);
    }
    if (f->is_map() || size >= kMostElements) return;
    const int copies = kind == 5 && below(8) == 0 ? static_cast<int>(1 + below(100)) : 1;
    for (int i = 0; i < copies; ++i) add(p, size);
  }

  // A new element, or a copy of one of the first `size`.
  void add(const Place& p, int size) {
    Message* m = p.message;
    const FieldDescriptor* f = p.field;
    const Reflection& r = *m->GetReflection();
    const bool copy = size > 0 && below(3) != 0;
    const int which = copy ? static_cast<int>(below(static_cast<size_t>(size))) : 0;
    switch (f->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32: return r.AddInt32(m, f, static_cast<int32_t>(number()));
      case FieldDescriptor::CPPTYPE_INT64: return r.AddInt64(m, f, static_cast<int64_t>(number()));
      case FieldDescriptor::CPPTYPE_UINT32: return r.AddUInt32(m, f, static_cast<uint32_t>(number()));
      case FieldDescriptor::CPPTYPE_UINT64: return r.AddUInt64(m, f, number());
      case FieldDescriptor::CPPTYPE_DOUBLE: return r.AddDouble(m, f, real());
      case FieldDescriptor::CPPTYPE_FLOAT: return r.AddFloat(m, f, static_cast<float>(real()));
      case FieldDescriptor::CPPTYPE_BOOL: return r.AddBool(m, f, below(2) == 0);
      case FieldDescriptor::CPPTYPE_ENUM: return r.AddEnumValue(m, f, static_cast<int>(below(12)));
      case FieldDescriptor::CPPTYPE_STRING:
        return r.AddString(m, f, text(copy ? r.GetRepeatedString(*m, f, which) : ""));
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        Message* fresh = r.AddMessage(m, f);
        if (copy) fresh->CopyFrom(r.GetRepeatedMessage(*m, f, which));
        if (!copy || below(2) == 0) change(fresh);
        return;
      }
    }
  }

  std::mt19937_64& rng_;
  const std::span<const std::string> words_;
};

}  // namespace

void mutate(google::protobuf::Message* m, std::mt19937_64& rng, std::span<const std::string> words) {
  Mutation mutation(rng, words);
  for (size_t n = 1 + rng() % 4; n > 0; --n) mutation.change(m);
}

}  // namespace hone::fuzz
