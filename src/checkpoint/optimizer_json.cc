#include "checkpoint/optimizer_json.h"

#include <type_traits>

namespace yoke::checkpoint {
namespace {

constexpr std::size_t kMaxKind = 32;

const char* kind_of(const SGD&) { return "sgd"; }
const char* kind_of(const Adagrad&) { return "adagrad"; }
const char* kind_of(const RMSProp&) { return "rmsprop"; }
const char* kind_of(const Adam&) { return "adam"; }
const char* kind_of(const AdamW&) { return "adamw"; }
const char* kind_of(const Average&) { return "average"; }

// Every field of an optimizer with its name: the one list that writing and reading share.
template <class Visit>
void each_field(auto& o, Visit visit) {
  using T = std::remove_cvref_t<decltype(o)>;
  if constexpr (!std::is_same_v<T, Average>) {
    visit("lr", o.lr);
    visit("weight_decay", o.weight_decay);
  }
  if constexpr (requires { o.momentum; }) visit("momentum", o.momentum);
  if constexpr (requires { o.nesterov; }) visit("nesterov", o.nesterov);
  if constexpr (requires { o.lr_decay; }) visit("lr_decay", o.lr_decay);
  if constexpr (requires { o.initial_accumulator; }) visit("initial_accumulator", o.initial_accumulator);
  if constexpr (requires { o.alpha; }) visit("alpha", o.alpha);
  if constexpr (requires { o.centered; }) visit("centered", o.centered);
  if constexpr (requires { o.beta1; }) visit("beta1", o.beta1);
  if constexpr (requires { o.beta2; }) visit("beta2", o.beta2);
  if constexpr (requires { o.eps; }) visit("eps", o.eps);
}

template <std::size_t I = 0>
Optimizer of_kind(const std::string& kind, Fields& fields) {
  if constexpr (I == std::variant_size_v<Optimizer>) {
    fields.refuse("kind", "is no optimizer that this program has");
    return Average{};
  } else {
    std::variant_alternative_t<I, Optimizer> optimizer;
    if (kind != kind_of(optimizer)) return of_kind<I + 1>(kind, fields);
    each_field(optimizer, [&](const char* key, auto& field) {
      if constexpr (std::is_same_v<decltype(field), bool&>) {
        field = fields.flag(key);
      } else {
        field = fields.number(key);
      }
    });
    return optimizer;
  }
}

}  // namespace

nlohmann::ordered_json optimizer_json(const Optimizer& optimizer) {
  return std::visit(
      [](const auto& o) {
        nlohmann::ordered_json json{{"kind", kind_of(o)}};
        each_field(o, [&](const char* key, const auto& field) { json[key] = field; });
        return json;
      },
      optimizer);
}

Optimizer optimizer_from(const Json& object, const std::string& where, std::string& wrong) {
  Fields fields(object, where, wrong);
  const auto kind = fields.text("kind", kMaxKind);
  return of_kind(kind, fields);
}

}  // namespace yoke::checkpoint
