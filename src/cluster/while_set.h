#pragma once

namespace yoke::cluster {

// For as long as it lives a flag is set; under the lock at both ends.
class WhileSet {
 public:
  explicit WhileSet(bool& flag) : flag_(flag) { flag_ = true; }
  ~WhileSet() { flag_ = false; }
  WhileSet(const WhileSet&) = delete;
  WhileSet& operator=(const WhileSet&) = delete;

 private:
  bool& flag_;
};

}  // namespace yoke::cluster
