// For transport_bench: the same work over one bidirectional stream of gRPC a client, as one would write it who wants it
// fast. The callback interface with raw byte buffers, which together were 7 to 39 % faster (medians of 3, on a busy
// machine) than the blocking interface with protobuf's messages: frames are sent from where they lie, and received ones
// are looked at in the pieces in which gRPC has them. No limit on the size of a message.
//
// With certificates it is TLS 1.3, and both sides show theirs.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transport/bench_work.h"
#include "transport/grpc_peer.grpc.pb.h"

namespace yoke::transport::bench {

// What both sides believe and show, in PEM; empty: nothing is encrypted.
struct GrpcCertificates {
  std::string authority, certificate, key;
};

// A whole 1 MiB in one frame of HTTP/2, read in pieces that do not cost a call of the kernel every 8 KiB.
template <class Set>
void grpc_tune(Set set) {
  set(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 1 << 20);
  set(GRPC_ARG_TCP_READ_CHUNK_SIZE, 256 << 10);
}

// --- frames ---

inline grpc::ByteBuffer grpc_frame(Label label, const std::byte* frame) {
  const grpc::Slice slices[] = {grpc::Slice(&label, sizeof label),
                                grpc::Slice(frame, kFrame, grpc::Slice::STATIC_SLICE)};
  return {slices, std::size(slices)};
}

// A frame that came, where it lies: in as many pieces as gRPC has read it in.
class GrpcReceived {
 public:
  explicit GrpcReceived(const grpc::ByteBuffer& buffer) {
    if (!buffer.Dump(&slices_).ok()) give_up("gRPC: a frame that cannot be read");
    std::byte label[sizeof(Label)];
    std::size_t have = 0;
    for (const auto& slice : slices_) {
      std::span<const std::byte> piece(reinterpret_cast<const std::byte*>(slice.begin()), slice.size());
      const auto here = std::min(piece.size(), sizeof label - have);
      std::copy_n(piece.begin(), here, label + have);
      have += here;
      if (here < piece.size()) pieces_.push_back(piece.subspan(here));
    }
    label_ = to_label(label, have);
  }

  Label label() const { return label_; }

  // As `check` does, and reads all of it if the server does.
  void take(std::uint64_t word) const {
    std::size_t begin = 0;
    std::byte found[4][sizeof word];
    for (const auto& piece : pieces_) {
      for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < sizeof word; ++j)
          if (const auto at = place(i) + j; at >= begin && at < begin + piece.size()) found[i][j] = piece[at - begin];
      if (server_reads_all) read_all(piece);
      begin += piece.size();
    }
    if (begin != kFrame) give_up("gRPC: a frame of another size");
    for (const auto& one : found)
      if (std::memcmp(one, &word, sizeof word) != 0) give_up("gRPC: a frame with other words in it");
  }

  void copy_to(std::span<std::byte, kFrame> to) const {
    std::size_t begin = 0;
    for (const auto& piece : pieces_) {
      if (piece.size() > to.size() - begin) give_up("gRPC: a frame of another size");
      std::copy(piece.begin(), piece.end(), to.begin() + static_cast<std::ptrdiff_t>(begin));
      begin += piece.size();
    }
    if (begin != to.size()) give_up("gRPC: a frame of another size");
  }

 private:
  std::vector<grpc::Slice> slices_;
  std::vector<std::span<const std::byte>> pieces_;
  Label label_;
};

// --- the server ---

class GrpcServing : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit GrpcServing(const std::byte* parameters) : parameters_(parameters) { StartRead(&in_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    Label label;
    {
      const GrpcReceived frame(in_);
      label = frame.label();
      frame.take(word_of(Side::gradient, label.frame, label.iteration));
    }
    in_.Clear();
    {
      const std::lock_guard lock(mutex_);
      answers_.push_back(label);
      if (answers_.size() == 1) write();
    }
    StartRead(&in_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return;
    const std::lock_guard lock(mutex_);
    answers_.pop_front();
    if (!answers_.empty()) write();
  }
  void OnDone() override { delete this; }

 private:
  void write() {
    out_ = grpc_frame(answers_.front(), parameters_ + answers_.front().frame * kFrame);
    StartWrite(&out_);
  }

  const std::byte* parameters_;
  grpc::ByteBuffer in_, out_;
  std::mutex mutex_;
  std::deque<Label> answers_;  // the first is being written
};

class GrpcService : public Frames::WithRawCallbackMethod_Exchange<Frames::Service> {
 public:
  GrpcService() : parameters_(kFrames * kFrame) {
    for (std::uint32_t i = 0; i < kFrames; ++i) mark(parameters_.data() + i * kFrame, word_of(Side::parameter, i, 0));
  }
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Exchange(grpc::CallbackServerContext*) override {
    return new GrpcServing(parameters_.data());
  }

 private:
  std::vector<std::byte> parameters_;
};

inline void grpc_server(const std::string& address, const GrpcCertificates& certificates) {
  auto credentials = grpc::InsecureServerCredentials();
  if (!certificates.key.empty()) {
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = certificates.authority;
    options.pem_key_cert_pairs.push_back({certificates.key, certificates.certificate});
    credentials = grpc::SslServerCredentials(options);
  }
  GrpcService service;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  grpc_tune([&](const char* name, int value) { builder.AddChannelArgument(name, value); });
  builder.AddListeningPort(address, credentials);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (!server) give_up("gRPC: cannot listen at " + address);
  server->Wait();
}

// --- the client ---

class GrpcPushing : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit GrpcPushing(const Gate& gate) : gate_(gate), gradients_(kFrames * kFrame), parameters_(kFrames * kFrame) {
    std::memset(gradients_.data(), 1, gradients_.size());
  }

  void begin() {
    StartRead(&in_);
    StartCall();
    push();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) give_up("gRPC: the server does not listen any more");
    if (++sent_ < kFrames) return push();
    half_done();
  }
  void OnReadDone(bool ok) override {
    if (!ok) give_up("gRPC: the server has gone");
    {
      const GrpcReceived frame(in_);
      const auto label = frame.label();
      if (label.iteration != iteration_) give_up("gRPC: a frame of another iteration");
      const std::span<std::byte, kFrame> to(parameters_.data() + label.frame * kFrame, kFrame);
      frame.copy_to(to);
      check(to, word_of(Side::parameter, label.frame, 0));
    }
    in_.Clear();
    if (++received_ < kFrames) return StartRead(&in_);
    half_done();
  }

 private:
  void push() {
    auto* frame = gradients_.data() + sent_ * kFrame;
    mark(frame, word_of(Side::gradient, sent_, iteration_));
    out_ = grpc_frame({sent_, iteration_}, frame);
    StartWrite(&out_);
  }
  // All is written, or all is read: whoever is second goes on to the next iteration.
  void half_done() {
    const std::lock_guard lock(mutex_);
    if (++halves_ < 2) return;
    halves_ = sent_ = received_ = 0;
    if (++iteration_ == kWarmUps) gate_.pass();
    if (iteration_ == kWarmUps + kIterations) return gate_.done();
    StartRead(&in_);
    push();
  }

  const Gate& gate_;
  std::vector<std::byte> gradients_, parameters_;
  grpc::ByteBuffer in_, out_;
  std::uint32_t iteration_ = 0, sent_ = 0, received_ = 0;
  std::mutex mutex_;
  unsigned halves_ = 0;
};

inline void grpc_client(const std::string& address, const GrpcCertificates& certificates, const Gate& gate) {
  auto credentials = grpc::InsecureChannelCredentials();
  if (!certificates.key.empty())
    credentials = grpc::SslCredentials({certificates.authority, certificates.key, certificates.certificate});
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  // The server may not listen yet: it tries again soon, and not after a second.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  grpc_tune([&](const char* name, int value) { arguments.SetInt(name, value); });
  const auto channel = grpc::CreateCustomChannel(address, credentials, arguments);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10)))
    give_up("gRPC: nobody answers at " + address);
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  GrpcPushing pushing(gate);
  stub.PrepareBidiStreamingCall(&context, "/yoke.transport.bench.Frames/Exchange", {}, &pushing);
  pushing.begin();
  pause();
}

}  // namespace yoke::transport::bench
