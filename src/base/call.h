// What is to be called later. As std::function<void()>, but it can only be moved, and what a usual one captures lies in
// it: for calls that come and go thousands of times a second, nothing is allocated.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace yoke {

class Call {
 public:
  static constexpr std::size_t kRoom = 48;  // bytes of captures; more of them are allocated

  Call() = default;
  template <class Function>
  requires(!std::is_same_v<std::decay_t<Function>, Call>)
      Call(Function&& function) {  // NOLINT(google-explicit-constructor): as std::function does
    using Kept = std::decay_t<Function>;
    if constexpr (fits<Kept>()) {
      new (room_) Kept(std::forward<Function>(function));
      how_ = &kInPlace<Kept>;
    } else {
      new (room_) Kept*(new Kept(std::forward<Function>(function)));
      how_ = &kElsewhere<Kept>;
    }
  }
  Call(Call&& other) noexcept { take(other); }
  Call& operator=(Call&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() { drop(); }

  explicit operator bool() const { return how_ != nullptr; }
  // There is one.
  void operator()() { how_->call(room_); }

 private:
  struct How {
    void (*call)(void* at);
    void (*move)(void* from, void* to) noexcept;  // and nothing is left there
    void (*drop)(void* at) noexcept;
  };

  template <class Kept>
  static constexpr bool fits() {
    return sizeof(Kept) <= kRoom && alignof(Kept) <= alignof(std::max_align_t) &&
           std::is_nothrow_move_constructible_v<Kept>;
  }

  template <class Kept>
  static constexpr How kInPlace = {
      [](void* at) { (*static_cast<Kept*>(at))(); },
      [](void* from, void* to) noexcept {
        new (to) Kept(std::move(*static_cast<Kept*>(from)));
        static_cast<Kept*>(from)->~Kept();
      },
      [](void* at) noexcept { static_cast<Kept*>(at)->~Kept(); },
  };
  template <class Kept>
  static constexpr How kElsewhere = {
      [](void* at) { (**static_cast<Kept**>(at))(); },
      [](void* from, void* to) noexcept { new (to) Kept*(*static_cast<Kept**>(from)); },
      [](void* at) noexcept { delete *static_cast<Kept**>(at); },
  };

  void take(Call& other) noexcept {
    how_ = std::exchange(other.how_, nullptr);
    if (how_) how_->move(other.room_, room_);
  }
  void drop() noexcept {
    if (how_) std::exchange(how_, nullptr)->drop(room_);
  }

  alignas(std::max_align_t) std::byte room_[kRoom];
  const How* how_ = nullptr;
};

}  // namespace yoke
