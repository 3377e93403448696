// Two ends that come to know each other, byte by byte, without a socket.
#include "transport/handshake.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "wire/checksum.h"

namespace yoke::transport {
namespace {

using security::Secret;
using State = Handshake::State;

Handshake::SecretFor always(Secret::Ptr secret) {
  return [secret = std::move(secret)](const std::string&) { return Result<Secret::Ptr>(secret); };
}

// Hands over what one has said, a few bytes at a time; what was not taken is left.
void carry(const std::string& said, Handshake& to) {
  auto bytes = std::as_bytes(std::span(said));
  while (!bytes.empty() && to.state() == State::going) {
    const auto here = std::min<std::size_t>({bytes.size(), to.want().size(), 7});
    std::copy_n(bytes.begin(), here, to.want().begin());
    to.filled(here);
    bytes = bytes.subspan(here);
  }
}

// Everything that is said, until nobody has anything more to say; who dials first.
std::pair<std::string, std::string> talk(Handshake& dialler, Handshake& answerer) {
  std::pair<std::string, std::string> said;
  for (;;) {
    const auto there = dialler.take_output();
    carry(there, answerer);
    const auto back = answerer.take_output();
    carry(back, dialler);
    said.first += there;
    said.second += back;
    if (there.empty() && back.empty()) return said;
  }
}

TEST(Handshake, WhoHasTheSecretIsKnown) {
  for (const auto& secret : {Secret::make().or_throw(), Secret::Ptr{}}) {
    auto dialler = Handshake::dialling({"I am a replica", 7, "session"}, secret);
    auto answerer = Handshake::answering({"I am a server", 9, "session"}, always(secret));
    const auto said = talk(dialler, answerer);
    EXPECT_EQ(dialler.state(), State::done) << dialler.problem();
    EXPECT_EQ(answerer.state(), State::done) << answerer.problem();
    EXPECT_EQ(dialler.introduction(), "I am a server");
    EXPECT_EQ(dialler.incarnation(), 9U);
    EXPECT_EQ(answerer.introduction(), "I am a replica");
    EXPECT_EQ(answerer.incarnation(), 7U);
    EXPECT_LE(said.first.size(), 1024U);
  }
}

TEST(Handshake, TheSecretIsChosenByWhoComes) {
  const auto own = Secret::make().or_throw(), other = Secret::make().or_throw();
  const auto by_name = [&](const std::string& introduction) -> Result<Secret::Ptr> {
    if (introduction == "mine") return own;
    if (introduction == "theirs") return other;
    return Error{Code::refused, "there is no such container here"};
  };
  for (const auto& [name, secret, state] :
       {std::tuple{"mine", own, State::done}, std::tuple{"theirs", other, State::done},
        std::tuple{"mine", other, State::failed}, std::tuple{"nobody's", own, State::failed}}) {
    auto dialler = Handshake::dialling({name, 1, ""}, secret);
    auto answerer = Handshake::answering({"server", 2, ""}, by_name);
    talk(dialler, answerer);
    EXPECT_EQ(dialler.state(), state) << name;
    EXPECT_EQ(answerer.state(), state) << name;
  }
}

// Whoever differs in anything is refused, on both sides and in words; and learns nothing of who answers.
TEST(Handshake, AnythingElseIsRefused) {
  const auto secret = Secret::make().or_throw();
  const auto expect_refused = [&](const Handshake::Own& own, const Secret::Ptr& with, const Secret::Ptr& asked) {
    auto dialler = Handshake::dialling(own, with);
    auto answerer = Handshake::answering({"the server itself", 9, "session"}, always(asked));
    const auto said = talk(dialler, answerer);
    EXPECT_EQ(dialler.state(), State::failed);
    EXPECT_EQ(answerer.state(), State::failed);
    EXPECT_NE(dialler.problem().find("secret"), std::string::npos) << dialler.problem();
    EXPECT_NE(answerer.problem().find("secret"), std::string::npos) << answerer.problem();
    EXPECT_EQ(said.second.find("the server itself"), std::string::npos);
  };
  expect_refused({"replica", 7, "session"}, Secret::make().or_throw(), secret);
  expect_refused({"replica", 7, "session"}, nullptr, secret);
  expect_refused({"replica", 7, "session"}, secret, nullptr);
  expect_refused({"replica", 7, "another session"}, secret, secret);  // somebody sits between the two
  expect_refused({"replica", 7, ""}, secret, secret);
}

TEST(Handshake, WhatWasRecordedOpensNothing) {
  const auto secret = Secret::make().or_throw();
  auto dialler = Handshake::dialling({"replica", 7, ""}, secret);
  auto answerer = Handshake::answering({"server", 9, ""}, always(secret));
  const auto said = talk(dialler, answerer);
  ASSERT_EQ(answerer.state(), State::done);

  auto again = Handshake::answering({"server", 9, ""}, always(secret));
  carry(said.first, again);
  EXPECT_EQ(again.state(), State::failed);
  auto fooled = Handshake::dialling({"replica", 7, ""}, secret);
  fooled.take_output();
  carry(said.second, fooled);
  EXPECT_EQ(fooled.state(), State::failed);
}

// A proof sent back to where it came from is not one.
TEST(Handshake, NeitherProofIsTheOther) {
  const auto secret = Secret::make().or_throw();
  auto dialler = Handshake::dialling({"me", 7, ""}, secret);
  const auto introduction = dialler.take_output();
  // Whoever answers has no secret: it takes the nonce for its own and the proof for its own.
  const auto frame = [&](wire::FrameKind kind, const std::string& control) {
    wire::FrameHead head{.kind = kind, .incarnation = 7, .control = static_cast<std::uint32_t>(control.size())};
    const auto bytes = wire::encode_head(head);
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    text += control;
    wire::Checksum sum;
    sum.add(std::as_bytes(std::span(control)));
    for (unsigned i = 0; i < 8; ++i) text += static_cast<char>(sum.value() >> (8 * i));
    return text;
  };
  carry(frame(wire::FrameKind::challenge, introduction.substr(wire::kHeadSize, wire::kNonceSize)), dialler);
  const auto proof = dialler.take_output().substr(wire::kHeadSize, wire::kProofSize);
  ASSERT_EQ(proof.size(), wire::kProofSize);
  carry(frame(wire::FrameKind::introduce, proof + "me"), dialler);
  EXPECT_EQ(dialler.state(), State::failed);
}

TEST(Handshake, AnotherVersionIsRefusedOnBothSides) {
  auto dialler = Handshake::dialling({"replica", 7, ""}, nullptr);
  auto answerer = Handshake::answering({"server", 9, ""}, always(nullptr));
  auto said = dialler.take_output();
  said[4] = 77;
  carry(said, answerer);
  EXPECT_EQ(answerer.state(), State::failed);
  EXPECT_NE(answerer.problem().find("speaks frame version 77"), std::string::npos) << answerer.problem();
  auto answer = answerer.take_output();
  ASSERT_FALSE(answer.empty());
  answer[4] = 77;  // as the other would see it: not its own version
  carry(answer, dialler);
  EXPECT_EQ(dialler.state(), State::failed);
  EXPECT_NE(dialler.problem().find("speaks frame version 77"), std::string::npos) << dialler.problem();
}

}  // namespace
}  // namespace yoke::transport
