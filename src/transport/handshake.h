// How two ends come to know each other before anything else is said: who they are, and that both have the secret. Bytes
// in, bytes out; the socket, and TLS under it, are others' business (greeting.h).
//
//   who dials                                    who answers
//   introduce: nonce, introduction      ->
//                                       <-       challenge: nonce
//   prove: proof                        ->
//                                       <-       introduce: proof, introduction
//
// Each proof is an HMAC with the secret over both nonces, both incarnations, the version, the introductions known by
// then (and so job, role and number) and the TLS session: it fits no other connection. The two differ by a word, so
// that neither can be sent back as the other. Whoever answers says nothing at all before a well-formed introduction,
// and nothing about himself before the proof. Without a secret the same is done with none, and proves nothing.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "security/secret.h"
#include "wire/frame.h"

namespace yoke::transport {

class Handshake {
 public:
  enum class State { going, done, failed };
  // The secret that goes with the introduction of whoever dials; null: none is asked for. An error: there is no place
  // for him here.
  using SecretFor = std::function<Result<security::Secret::Ptr>(const std::string& introduction)>;

  struct Own {
    std::string introduction;
    std::uint64_t incarnation = 0;
    std::string session;  // of TLS, known to both ends and to nobody else; empty without
  };

  static Handshake dialling(Own own, security::Secret::Ptr secret);
  static Handshake answering(Own own, SecretFor secret_for);

  State state() const { return state_; }
  // Where the next bytes of the other side go; never empty while it is going on.
  std::span<std::byte> want();
  void filled(std::size_t bytes);
  // What is to be sent now; also after it failed, when the other side may know why.
  std::string take_output() { return std::exchange(output_, {}); }

  // Failed: why.
  const std::string& problem() const { return problem_; }
  // Done: who the other side is.
  const std::string& introduction() const { return theirs_; }
  std::uint64_t incarnation() const { return their_incarnation_; }

 private:
  enum class Side { dials, answers };
  Handshake(Side side, Own own, security::Secret::Ptr secret, SecretFor secret_for);

  void send(wire::FrameKind kind, const std::string& control);
  void on_head();
  void on_frame();
  void on_introduce(const std::string& control);
  void fail(std::string problem);
  void refuse(const std::string& reason);
  security::Proof proof(Side of) const;
  bool is_proof(std::span<const std::byte> proof, Side of) const;

  Side side_;
  Own own_;
  security::Secret::Ptr secret_;
  SecretFor secret_for_;
  State state_ = State::going;
  std::string output_, problem_;
  wire::FrameKind expected_;
  std::array<std::byte, wire::kNonceSize> dialler_nonce_{}, answerer_nonce_{};
  std::string theirs_;
  std::uint64_t their_incarnation_ = 0;

  wire::HeadBytes head_bytes_{};
  wire::FrameHead head_;
  bool in_head_ = true;
  std::vector<std::byte> rest_;  // control and checksum of the frame that is coming in
  std::size_t have_ = 0;         // of the part that is coming in
};

}  // namespace yoke::transport
