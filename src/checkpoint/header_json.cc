#include "checkpoint/header_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

namespace yoke::checkpoint {
namespace {

constexpr std::size_t kMaxDimensions = 64;  // as many as the tools that write such files can make

// Takes the JSON piece by piece; what the format has no place for ends the reading.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  ModelHeader header;
  std::string wrong;

  bool start_object(std::size_t) override {
    if (place_ == Place::nowhere) return go(Place::names);
    if (place_ != Place::names) return unexpected("an object");
    fields_.clear();
    if (name_ == kAboutKey) return go(Place::about);
    header.tensors.emplace_back().name = name_;
    return go(Place::tensor);
  }

  bool key(std::string& text) override {
    if (!(place_ == Place::names ? names_ : fields_).insert(text).second)
      return refuse(fmt::format("{}'{}' is there twice", whose(), printable(text)));
    (place_ == Place::names ? name_ : field_) = text;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor && fields_.size() != 3)
      return refuse(whose() + "dtype, shape or data_offsets is missing");
    return go(place_ == Place::names ? Place::nowhere : Place::names);
  }

  bool string(std::string& text) override {
    if (place_ == Place::about) {
      header.about[field_] = text;
      return true;
    }
    if (place_ != Place::tensor || field_ != "dtype") return unexpected("a text");
    header.tensors.back().type = text;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || (field_ != "shape" && field_ != "data_offsets")) return unexpected("a list");
    offsets_ = 0;
    return go(field_ == "shape" ? Place::shape : Place::offsets);
  }

  bool number_unsigned(number_unsigned_t number) override {
    if (place_ == Place::offsets && offsets_ < 2) {
      (offsets_++ == 0 ? header.tensors.back().begin : header.tensors.back().end) = number;
      return true;
    }
    if (place_ != Place::shape) return unexpected("a number");
    auto& shape = header.tensors.back().shape;
    if (shape.size() == kMaxDimensions || number > std::uint64_t{INT64_MAX})
      return refuse(
          fmt::format("{}the shape has more than {} extents, or one that is too large", whose(), kMaxDimensions));
    shape.push_back(static_cast<std::int64_t>(number));
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets && offsets_ != 2) return refuse(whose() + "data_offsets are not two numbers");
    return go(Place::tensor);
  }

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("true or false"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const std::string&) override { return unexpected("a number that is no integer"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return refuse(fmt::format("the header is not JSON from its byte {} on", position));
  }

 private:
  enum class Place { nowhere, names, about, tensor, shape, offsets };

  bool go(Place place) {
    place_ = place;
    return true;
  }
  bool refuse(std::string why) {
    wrong = std::move(why);
    return false;
  }
  std::string whose() const {
    if (place_ == Place::nowhere || place_ == Place::names) return "the header: ";
    return place_ == Place::about ? std::string(kAboutKey) + ": " : fmt::format("tensor '{}': ", printable(name_));
  }
  bool unexpected(std::string_view what) {
    const bool inside = place_ != Place::nowhere && place_ != Place::names;
    return refuse(fmt::format("{}{} has no place at '{}'", whose(), what, printable(inside ? field_ : name_)));
  }

  Place place_ = Place::nowhere;
  std::string name_, field_;
  std::set<std::string> names_, fields_;
  int offsets_ = 0;
};

}  // namespace

Result<ModelHeader> read_header_json(std::string_view text) {
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) return Error{Code::corrupt, reader.wrong};
  return std::move(reader.header);
}

}  // namespace yoke::checkpoint
