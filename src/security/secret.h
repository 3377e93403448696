// The bytes that everybody of a job knows, and nobody else. They are kept out of core files and of swap, are wiped when
// the last holder lets go, and are shown to nobody: others see only proofs made with them.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "yoke/error.h"

namespace yoke::security {

using Proof = std::array<std::byte, 32>;

// Compares in a time that does not depend on where they differ.
bool equal(std::span<const std::byte> a, std::span<const std::byte> b);

class Secret {
 public:
  using Ptr = std::shared_ptr<const Secret>;

  // A new one, from the kernel's random numbers: 43 characters of letters, digits, - and _ (256 bits).
  static Result<Ptr> make();
  // From a file that nobody but its owner (this user, or root) may read. White space at its end does not count; what is
  // left is one word of 32 to 1024 characters.
  static Result<Ptr> from_file(const std::string& path);
  // Takes the value of an environment variable, and wipes it where it lies (also when it is none), so that neither
  // /proc nor a core file has it any more.
  static Result<Ptr> from_environment(char* value, const std::string& name);

  ~Secret();
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;

  // HMAC-SHA256 of these bytes.
  Proof prove(std::span<const std::byte> bytes) const;
  // Into a new file with mode 0600; a file that is there already is left alone, and is an error.
  Status write(const std::string& path) const;

 private:
  Secret() = default;
  static Result<std::shared_ptr<Secret>> empty();
  // The first `size` bytes of its page are what somebody gave; `whence` they came is for messages.
  static Result<Ptr> checked(std::shared_ptr<Secret> secret, std::size_t size, const std::string& whence);

  std::byte* page_ = nullptr;  // memory of its own: locked, and not in core files; a line feed follows the secret
  std::size_t size_ = 0;
};

}  // namespace yoke::security
