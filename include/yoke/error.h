// Failures that can happen (peer gone, time-out, bad option) are values: Result<T> and Status, which cannot be ignored.
// What must not happen is an assertion. Exceptions appear only at the public edge (yoke::run and what a replica's body
// calls).
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace yoke {

enum class Code {
  invalid_argument,  // the caller can mend it: a flag, a shape, a file name
  refused,           // the other side said no, and why
  timed_out,         // a deadline passed; the message names who was waited for
  peer_down,         // a replica or server went away
  missing,           // a file that is not there or cannot be read or written
  corrupt,           // bytes that do not check out
  unsupported,       // not on this machine, this build or this strategy
  cancelled,         // the job is being stopped
};

struct Error {
  Code code = Code::invalid_argument;
  std::string message;
};

// Thrown at the public edge only; `code()` says which kind.
class Exception : public std::runtime_error {
 public:
  explicit Exception(const Error& error) : std::runtime_error(error.message), code_(error.code) {}
  Code code() const { return code_; }

 private:
  Code code_;
};

// A value or the reason why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T good) : state_(std::in_place_index<0>, std::move(good)) {}
  Result(Error bad) : state_(std::in_place_index<1>, std::move(bad)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }
  // The value, or the error thrown: for the public edge.
  T or_throw() && {
    if (!ok()) throw Exception(error());
    return std::get<0>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error bad) : error_(std::move(bad)), ok_(false) {}

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const { return error_; }
  void or_throw() const {
    if (!ok_) throw Exception(error_);
  }

 private:
  Error error_;
  bool ok_ = true;
};

using Status = Result<void>;

}  // namespace yoke
