// Both ends' books on the payload under way: what may still be sent, and what the other side may. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "transport/connection.h"

namespace yoke::transport {

// The sender's: payloads in order, each with what must be kept until it is given back.
template <class Kept>
class SendCredit {
 public:
  // One payload may always be under way, however large, or the other side could never be reached with it.
  bool may_send(std::uint64_t bytes) const { return open_.empty() || bytes <= left_; }
  std::uint64_t start(std::uint64_t bytes, Kept kept) {
    left_ -= bytes < left_ ? bytes : left_;
    open_.emplace(++last_, std::pair{bytes, std::move(kept)});
    under_way_ += bytes;
    return last_;
  }
  void grant(std::uint64_t bytes) {
    granted_ = granted_ + bytes < granted_ ? ~std::uint64_t{0} : granted_ + bytes;
    recount();
  }
  // Given back; false: there is no such payload.
  bool give_back(std::uint64_t sequence, Kept& kept) {
    const auto it = open_.find(sequence);
    if (it == open_.end()) return false;
    kept = std::move(it->second.second);
    under_way_ -= it->second.first;
    open_.erase(it);
    recount();
    return true;
  }
  Kept& at(std::uint64_t sequence) { return open_.at(sequence).second; }
  template <class Call>
  void take_all(Call call) {
    auto all = std::exchange(open_, {});
    for (auto& [sequence, entry] : all) call(entry.second);
  }

 private:
  void recount() { left_ = granted_ > under_way_ ? granted_ - under_way_ : 0; }

  std::uint64_t granted_ = kFirstCredit;
  std::uint64_t left_ = kFirstCredit;
  std::uint64_t under_way_ = 0;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::pair<std::uint64_t, Kept>> open_;
};

// The receiver's.
class ReceiveCredit {
 public:
  void grant(std::uint64_t bytes) { granted_ += bytes; }
  // A payload is announced; false: it is more than was granted.
  bool take(std::uint64_t bytes) {
    if (held_ > 0 && bytes > granted_ - (held_ < granted_ ? held_ : granted_)) return false;
    held_ += bytes;
    return true;
  }
  void give_back(std::uint64_t bytes) {
    held_ -= bytes;
    untold_ += bytes;
  }
  // The sender knows of all that was given back.
  void told() { untold_ = 0; }
  // By what it knows the sender has used up half of what it may.
  bool scarce() const { return (held_ + untold_) >= granted_ / 2; }

 private:
  std::uint64_t granted_ = kFirstCredit;
  std::uint64_t held_ = 0;
  std::uint64_t untold_ = 0;
};

}  // namespace yoke::transport
