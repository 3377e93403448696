// For transport_bench: the same work over ZeroMQ, ROUTER and DEALER, as one would write it who wants it fast: frames
// are sent from where they lie, and received frames are looked at in ZeroMQ's own memory.
#pragma once

#include <zmq.h>

#include <string>

#include "transport/bench_work.h"

namespace yoke::transport::bench {

inline void zmq_check(bool good, const char* what) {
  if (!good) give_up(std::string("ZeroMQ: ") + what + ": " + zmq_strerror(zmq_errno()));
}

inline void* zmq_open(int type) {
  void* context = zmq_ctx_new();
  void* socket = zmq_socket(context, type);
  zmq_check(socket != nullptr, "socket");
  const int none = 0;
  zmq_setsockopt(socket, ZMQ_SNDHWM, &none, sizeof none);  // no limit
  zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none);
  return socket;
}

inline void zmq_send_frame(void* socket, Label label, std::byte* frame) {
  zmq_check(zmq_send(socket, &label, sizeof label, ZMQ_SNDMORE) >= 0, "send");
  zmq_msg_t message;
  zmq_check(zmq_msg_init_data(
                &message, frame, kFrame, [](void*, void*) {}, nullptr) == 0,
            "message");
  zmq_check(zmq_msg_send(&message, socket, 0) >= 0, "send");
}

// Calls `look` with the frame while it lies in ZeroMQ's memory.
template <class Look>
void zmq_receive_frame(void* socket, Look look) {
  Label raw;
  const int size = zmq_recv(socket, &raw, sizeof raw, 0);
  const auto label = to_label(&raw, size < 0 ? 0 : static_cast<std::size_t>(size));
  zmq_msg_t message;
  zmq_msg_init(&message);
  zmq_check(zmq_msg_recv(&message, socket, 0) >= 0, "receive");
  look(label, std::span(static_cast<const std::byte*>(zmq_msg_data(&message)), zmq_msg_size(&message)));
  zmq_msg_close(&message);
}

inline void zmq_server(const std::string& address) {
  std::vector<std::byte> parameters(kFrames * kFrame);
  for (std::uint32_t i = 0; i < kFrames; ++i) mark(parameters.data() + i * kFrame, word_of(Side::parameter, i, 0));
  void* socket = zmq_open(ZMQ_ROUTER);
  zmq_check(zmq_bind(socket, address.c_str()) == 0, "bind");
  for (char who[256];;) {
    const int size = zmq_recv(socket, who, sizeof who, 0);
    zmq_check(size > 0, "receive");
    Label answer;
    zmq_receive_frame(socket, [&](Label label, std::span<const std::byte> frame) {
      take_push(frame, word_of(Side::gradient, label.frame, label.iteration));
      answer = label;
    });
    zmq_check(zmq_send(socket, who, static_cast<std::size_t>(size), ZMQ_SNDMORE) >= 0, "send");
    zmq_send_frame(socket, answer, parameters.data() + answer.frame * kFrame);
  }
}

inline void zmq_client(const std::string& address, const Gate& gate) {
  std::vector<std::byte> gradients(kFrames * kFrame), parameters(kFrames * kFrame);
  void* socket = zmq_open(ZMQ_DEALER);
  zmq_check(zmq_connect(socket, address.c_str()) == 0, "connect");
  for (std::uint32_t iteration = 0; iteration < kWarmUps + kIterations; ++iteration) {
    if (iteration == kWarmUps) gate.pass();
    for (std::uint32_t i = 0; i < kFrames; ++i) {
      mark(gradients.data() + i * kFrame, word_of(Side::gradient, i, iteration));
      zmq_send_frame(socket, {i, iteration}, gradients.data() + i * kFrame);
    }
    for (std::uint32_t i = 0; i < kFrames; ++i)
      zmq_receive_frame(socket, [&](Label label, std::span<const std::byte> frame) {
        if (label.iteration != iteration) give_up("a frame of another iteration");
        auto* to = parameters.data() + label.frame * kFrame;
        std::memcpy(to, frame.data(), std::min(frame.size(), kFrame));
        check({to, frame.size()}, word_of(Side::parameter, label.frame, 0));
      });
  }
  gate.done();
  pause();
}

}  // namespace yoke::transport::bench
