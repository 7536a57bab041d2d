// SPDX-License-Identifier: MIT
#pragma once

#include "support/reserved_port.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct pollfd;

namespace interlock::test_support {

/// Stands between clients and a server on 127.0.0.1 and does to their bytes what networks do. What a call says is in
/// force when it returns. Thread-safe.
///
/// A closed connection is closed on the other side too, unless the way there is cut or held.
class tcp_proxy {
 public:
  /// A server that does not listen yet is waited for so long before its client is turned away.
  explicit tcp_proxy(int server_port, std::chrono::milliseconds patience = {});
  tcp_proxy(const tcp_proxy&) = delete;
  tcp_proxy& operator=(const tcp_proxy&) = delete;
  ~tcp_proxy();

  [[nodiscard]] int port() const noexcept { return port_.number(); }

  /// Every byte takes this long, each way. Those already under way keep their time.
  void delay(std::chrono::milliseconds each_way);
  /// Nothing arrives any more and nobody is told; connections stay open and new ones are accepted. What is under way is
  /// gone too.
  void cut();
  void cut_to_server();  ///< answers still arrive
  void cut_to_client();  ///< requests still arrive
  /// Nothing arrives for now, but nothing is gone: heal() delivers it late, as a network does that comes back in time.
  void hold();
  /// What clients send on connections that are open now is held back, also after they have closed them; others go on.
  /// heal() delivers it, late, as a network does that has found another way.
  void strand();
  /// Bytes flow again. Connections that have lost some are reset: no network leaves a hole in a stream.
  void heal();
  /// All connections, by RST to both sides.
  void reset();
  /// The next request goes through, its answer does not: the connection it comes on is closed instead.
  void lose_next_reply();
  /// Not accepting: connections are refused, those that are open go on.
  void accepting(bool yes);

  struct traffic {
    std::size_t connections = 0;  ///< since the beginning
    std::size_t open = 0;         ///< now
    std::size_t to_server = 0;    ///< bytes the clients have sent, whether they arrived or not
    std::size_t to_client = 0;
    std::size_t round_trips = 0;  ///< how often a client spoke first or after the server had spoken
    std::size_t replies_lost = 0;
  };
  [[nodiscard]] traffic seen();

 private:
  using clock = std::chrono::steady_clock;
  enum class road : std::uint8_t { open, held, cut };
  struct chunk {
    clock::time_point due;
    std::string bytes;
  };
  struct way {  // one direction of a connection
    int from = -1, to = -1;
    std::deque<chunk> queue{};
    bool ended = false;  // nothing more will come from `from`
    bool holed = false;  // something was lost
  };
  struct link {
    way up, down;  // to the server, to the client
    bool server_spoke_last = true;
    bool reply_is_doomed = false;
    bool stranded = false;
    bool over = false;
  };

  void run();
  void run_commands();
  void on_thread(std::function<void()> work);
  std::vector<pollfd> interests() const;
  void wait(std::vector<pollfd>& what) const;
  void listen();
  void accept_all();
  void serve(link& one);
  void take(link& one, way& along, road how);
  void take_request(link& one, std::size_t bytes);
  bool take_reply(link& one, std::size_t bytes);
  void give(link& one, way& along, road how);
  void roads(road to_server, road to_client);
  [[nodiscard]] road up_road(const link& one) const { return one.stranded ? road::held : to_server_; }
  static void finish(link& one, bool hard);

  reserved_port port_;
  int server_port_;
  std::chrono::milliseconds patience_;
  int listener_ = -1;
  int wake_ = -1;

  // Only the thread touches these.
  std::list<link> links_;
  std::chrono::milliseconds delay_{0};
  road to_server_ = road::open, to_client_ = road::open;
  bool lose_next_ = false;
  bool stop_ = false;
  traffic seen_;

  std::mutex mutex_;
  std::condition_variable done_;
  std::deque<std::function<void()>> commands_;
  std::size_t commands_given_ = 0, commands_done_ = 0;
  std::thread thread_;
};

}  // namespace interlock::test_support
