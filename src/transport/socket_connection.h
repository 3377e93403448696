// A connection over a stream: TCP, TLS, Unix, and shared memory, whose doorbell and death are those of its Unix socket
// while payloads stay where they are.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "transport/connection.h"
#include "transport/credit.h"
#include "transport/greeting.h"
#include "wire/checksum.h"
#include "wire/frame.h"

namespace yoke::transport {

class SocketConnection : public Connection {
 public:
  // To the other end of this stream, which has been dialled. `handler` outlives the connection's last callback.
  static std::shared_ptr<SocketConnection> dialled(Loop& loop, std::unique_ptr<Stream> stream, bool shared_memory,
                                                   std::string peer, const Settings& settings, Handler& handler);
  // With somebody who dialled, and is known by now. `held` goes when the connection is down.
  static std::shared_ptr<SocketConnection> greeted(Loop& loop, Greeting& greeting, bool shared_memory, std::string peer,
                                                   const Settings& settings, Handler& handler,
                                                   std::shared_ptr<void> held);
  ~SocketConnection() override;

  void send(std::string control, Bytes payload = {}, Completion done = {}) override;
  void grant(std::uint64_t bytes) override;
  void close(const std::string& why) override;
  void finish(const std::string& why) override;
  void belong_to(std::shared_ptr<Arena> arena, std::shared_ptr<const std::atomic<std::uint64_t>> progress) override {
    settings_.arena = std::move(arena);
    progress_ = std::move(progress);
    settings_.progress = progress_.get();
  }

 private:
  struct Frame {  // on its way out
    wire::FrameHead head;
    wire::HeadBytes bytes{};
    std::string control;
    Bytes payload;
    Completion done;
    std::uint64_t check = 0;
    int fd = -1;             // region: travels with the first byte
    bool started = false;    // the head is made
    std::size_t summed = 0;  // of an inline payload: already in the checksum
    std::size_t inline_payload() const { return head.in_region ? 0 : payload.bytes.size(); }
    std::size_t size() const { return wire::kHeadSize + control.size() + inline_payload() + wire::kCheckSize; }
  };
  struct Kept {  // until a payload is given back
    Bytes payload;
    Completion done;
  };
  enum class Stage { head, control, payload, check };

  SocketConnection(Loop& loop, bool shared_memory, std::string peer, const Settings& settings, Handler& handler);
  void start();
  void greet();
  void come_up(const std::string& introduction);

  // out
  void enqueue(Frame frame, bool urgent);
  Frame control_frame(wire::FrameKind kind) const;
  bool startable(const Frame& frame) const;
  void start_frame(Frame& frame);
  void sum_up(Frame& frame, std::size_t payload_end);
  bool name_place(Frame& frame);
  void announce_region();
  void flush();
  void release_frames();
  void flush_later();
  bool write_some();
  bool wait_for_room();  // false, for returning
  void sent(std::size_t bytes);

  // in
  void on_ready(std::uint32_t events);
  void read_on();
  void read_on_later();
  bool read_some();
  bool consume(std::span<const std::byte> bytes);
  bool stage_done();
  bool on_head();
  bool on_control();
  bool choose_sink();
  bool on_whole();
  bool on_region();
  bool on_release();
  Bytes received_payload();
  void give_back(std::uint64_t sequence, std::uint64_t bytes);

  void tick();
  bool path_is_cut() const;
  bool wrong(const std::string& what);  // false, for returning
  void fail(Down kind, std::string text);

  Loop& loop_;
  std::unique_ptr<Greeting> greeting_;  // until the other side is known
  std::unique_ptr<Stream> stream_;      // from then on
  int fd_ = -1;                         // of either
  const bool shared_memory_;
  Settings settings_;
  std::shared_ptr<const std::atomic<std::uint64_t>> progress_;  // of the job that it belongs to
  Handler& handler_;
  std::shared_ptr<void> held_;
  bool down_ = false;
  bool up_ = false;
  std::string finishing_;     // why, once `finish` was called
  bool half_closed_ = false;  // all has gone out, and the other side knows that nothing follows
  Time half_closed_at_{};
  std::uint64_t incarnation_ = 0;  // the other side's
  Loop::Timer timer_ = 0;
  Time last_tick_{};
  Time begun_{};

  // out
  std::deque<Frame> urgent_, queue_;
  std::size_t written_ = 0;  // of the frame being sent
  bool sending_urgent_ = false;
  std::size_t waiting_bytes_ = 0;
  bool want_write_ = false, flush_planned_ = false, release_planned_ = false, reading_ = false;
  wire::Checksum sum_out_;  // of the first frame whose payload is not all written
  SendCredit<Kept> credit_;
  std::uint32_t announced_regions_ = 0;
  std::vector<std::uint64_t> give_back_;  // to be told
  std::uint64_t to_grant_ = 0;

  // in
  std::vector<std::byte> buffer_;
  Stage stage_ = Stage::head;
  std::span<std::byte> want_;  // what the present stage still lacks
  wire::HeadBytes head_bytes_{};
  wire::FrameHead head_;
  Incoming incoming_;
  bool announced_ = false;  // the handler knows of the message under way
  Sink sink_;
  std::shared_ptr<std::byte> own_memory_;  // where the payload goes when the handler has no wish
  std::array<std::byte, wire::kCheckSize> check_bytes_{};
  wire::Checksum checksum_;
  ReceiveCredit received_;
  std::deque<int> descriptors_;
  std::vector<std::shared_ptr<Mapping>> mappings_;
};

}  // namespace yoke::transport
