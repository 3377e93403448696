#include "transport/handshake.h"

#include <fmt/format.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <cassert>
#include <cstring>

#include "wire/checksum.h"

namespace yoke::transport {
namespace {

using wire::FrameKind;

std::span<const std::byte> in_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void append_number(std::string& to, std::uint64_t number) {
  for (unsigned i = 0; i < 8; ++i) to += static_cast<char>(number >> (8 * i));
}

// With its length in front, so that no two lists of parts make the same bytes.
void append(std::string& to, std::span<const std::byte> part) {
  append_number(to, part.size());
  to += text_of(part);
}

// What may be shown of a text that came from anybody.
std::string printable(const std::string& text) {
  std::string shown;
  for (const char c : text) shown += c >= 32 && c < 127 ? c : '?';
  return shown;
}

}  // namespace

Handshake::Handshake(Side side, Own own, security::Secret::Ptr secret, SecretFor secret_for)
    : side_(side), own_(std::move(own)), secret_(std::move(secret)), secret_for_(std::move(secret_for)) {
  assert(own_.introduction.size() <= wire::kMaxIntroduction);
  auto& nonce = side_ == Side::dials ? dialler_nonce_ : answerer_nonce_;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), static_cast<int>(nonce.size())) != 1) {
    fail("there are no random numbers to be had");
    return;
  }
  expected_ = side_ == Side::dials ? FrameKind::challenge : FrameKind::introduce;
  if (side_ == Side::dials) send(FrameKind::introduce, text_of(dialler_nonce_) + own_.introduction);
}

Handshake Handshake::dialling(Own own, security::Secret::Ptr secret) {
  return {Side::dials, std::move(own), std::move(secret), {}};
}

Handshake Handshake::answering(Own own, SecretFor secret_for) {
  return {Side::answers, std::move(own), {}, std::move(secret_for)};
}

void Handshake::send(FrameKind kind, const std::string& control) {
  wire::FrameHead head;
  head.kind = kind;
  head.incarnation = own_.incarnation;
  head.control = static_cast<std::uint32_t>(control.size());
  output_ += text_of(wire::encode_head(head)) + control;
  wire::Checksum sum;
  sum.add(in_bytes(control));
  append_number(output_, sum.value());
}

std::span<std::byte> Handshake::want() {
  if (in_head_) return std::span(head_bytes_).subspan(have_);
  return std::span(rest_).subspan(have_);
}

void Handshake::filled(std::size_t bytes) {
  assert(state_ == State::going && bytes <= want().size());
  have_ += bytes;
  if (!want().empty()) return;
  if (in_head_)
    on_head();
  else
    on_frame();
}

void Handshake::on_head() {
  const auto head = wire::decode_head(head_bytes_);
  // Another version learns of ours by the head of the refusal; a stranger learns nothing.
  if (!head) {
    if (wire::is_other_version(head_bytes_)) return refuse("another version: " + head.error().message);
    return fail(head.error().message);
  }
  head_ = *head;
  const bool refused = side_ == Side::dials && head_.kind == FrameKind::refuse;
  if (head_.kind != expected_ && !refused) return fail("something else before it is known");
  if (head_.control > (refused ? wire::kMaxRefusal : wire::kMaxFirstControl) || head_.payload > 0 || head_.in_region)
    return fail("more than belongs there before it is known");
  in_head_ = false;
  have_ = 0;
  rest_.assign(head_.control + wire::kCheckSize, std::byte{});
}

void Handshake::on_frame() {
  wire::Checksum sum;
  const auto control_bytes = std::span(rest_).first(head_.control);
  sum.add(control_bytes);
  std::string check;
  append_number(check, sum.value());
  if (std::memcmp(check.data(), rest_.data() + head_.control, wire::kCheckSize) != 0)
    return fail("bytes that were damaged on the way");
  const auto control = text_of(control_bytes);
  in_head_ = true;
  have_ = 0;
  if (head_.kind == FrameKind::refuse) return fail(printable(control));
  if (head_.kind == FrameKind::introduce) return on_introduce(control);
  if (head_.incarnation != their_incarnation_ && head_.kind == FrameKind::prove) return fail("a frame of another life");
  if (head_.kind == FrameKind::challenge) {
    if (control.size() != wire::kNonceSize) return fail("a nonce of another size");
    std::memcpy(answerer_nonce_.data(), control.data(), control.size());
    their_incarnation_ = head_.incarnation;
    expected_ = FrameKind::introduce;
    return send(FrameKind::prove, text_of(proof(Side::dials)));
  }
  if (!is_proof(control_bytes, Side::dials))
    return refuse("the secret is not the one of this job, or there is none: give the same --secret-file to all");
  send(FrameKind::introduce, text_of(proof(Side::answers)) + own_.introduction);
  state_ = State::done;
}

void Handshake::on_introduce(const std::string& control) {
  constexpr auto kFront = wire::kNonceSize;
  static_assert(wire::kProofSize == kFront);
  if (control.size() < kFront) return fail("an introduction that is too short");
  theirs_ = control.substr(kFront);
  const auto front = in_bytes(control).first(kFront);
  if (side_ == Side::dials) {
    if (head_.incarnation != their_incarnation_) return fail("a frame of another life");
    if (!is_proof(front, Side::answers))
      return fail("it has not the secret of this job: give the same --secret-file to all");
    state_ = State::done;
    return;
  }
  std::memcpy(dialler_nonce_.data(), front.data(), front.size());
  their_incarnation_ = head_.incarnation;
  auto secret = secret_for_(theirs_);
  if (!secret) {  // why is not a stranger's business
    refuse("there is no place for it here");
    return fail(secret.error().message);
  }
  secret_ = std::move(*secret);
  expected_ = FrameKind::prove;
  send(FrameKind::challenge, text_of(answerer_nonce_));
}

// Whoever answers introduces himself only after the dialler's proof: that does not cover it.
security::Proof Handshake::proof(Side of) const {
  const bool dialler = side_ == Side::dials;
  std::string all;
  append(all, in_bytes(of == Side::dials ? "yoke: who dials" : "yoke: who answers"));
  append_number(all, wire::kFrameVersion);
  append(all, dialler_nonce_);
  append(all, answerer_nonce_);
  append_number(all, dialler ? own_.incarnation : their_incarnation_);
  append_number(all, dialler ? their_incarnation_ : own_.incarnation);
  append(all, in_bytes(own_.session));
  append(all, in_bytes(dialler ? own_.introduction : theirs_));
  if (of == Side::answers) append(all, in_bytes(dialler ? theirs_ : own_.introduction));
  if (secret_) return secret_->prove(in_bytes(all));
  security::Proof proof;
  SHA256(reinterpret_cast<const unsigned char*>(all.data()), all.size(),
         reinterpret_cast<unsigned char*>(proof.data()));
  return proof;
}

bool Handshake::is_proof(std::span<const std::byte> given, Side of) const {
  return given.size() == wire::kProofSize && security::equal(given, proof(of));
}

void Handshake::fail(std::string problem) {
  state_ = State::failed;
  problem_ = std::move(problem);
}

// Only whoever answers refuses in words: he has heard a well-formed introduction, or at least a head of ours.
void Handshake::refuse(const std::string& reason) {
  if (side_ == Side::answers) send(FrameKind::refuse, reason.substr(0, wire::kMaxRefusal));
  fail(reason);
}

}  // namespace yoke::transport
