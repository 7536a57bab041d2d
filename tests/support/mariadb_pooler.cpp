// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MYSQL

#include "support/mariadb_pooler.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <poll.h>

#include <array>
#include <atomic>
#include <list>
#include <thread>

namespace interlock::test_support {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr char query_command = 3;
constexpr int look_around = 20;  // milliseconds

// Its length, in three bytes, the lowest first; its number; and then as much.
std::string read_packet(tcp::socket& from) {
  std::string out(4, '\0');
  asio::read(from, asio::buffer(out));
  std::size_t size = 0;
  for (int i = 2; i >= 0; --i) size = size << 8 | static_cast<unsigned char>(out[static_cast<std::size_t>(i)]);
  out.resize(4 + size);
  asio::read(from, asio::buffer(out.data() + 4, size));
  return out;
}

}  // namespace

class mariadb_pooler::inside {
 public:
  inside(int server_port, lends what)
      : what_(what), server_(asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(server_port)) {}
  ~inside() {
    stop_ = true;
    thread_.join();
  }
  [[nodiscard]] int port() const { return acceptor_.local_endpoint().port(); }
  void lend(lends what) { what_ = what; }

 private:
  struct link {
    tcp::socket client, own, lent;
    bool turn = false;
  };

  void run() {
    while (!stop_) {
      std::vector<pollfd> all{{acceptor_.native_handle(), POLLIN, 0}};
      for (auto& one : links_)
        for (auto* socket : {&one.client, &one.own, &one.lent}) all.push_back({socket->native_handle(), POLLIN, 0});
      if (::poll(all.data(), all.size(), look_around) <= 0) continue;
      std::size_t at = 1;
      for (auto one = links_.begin(); one != links_.end(); at += 3)
        one = serve(*one, &all[at]) ? std::next(one) : links_.erase(one);
      if (all[0].revents != 0) greet();
    }
  }

  // Without a password nothing in a client's answer depends on the greeting: one answer does for both.
  void greet() {
    link one{acceptor_.accept(), tcp::socket(context_), tcp::socket(context_)};
    try {
      one.own.connect(server_);
      one.lent.connect(server_);
      asio::write(one.client, asio::buffer(read_packet(one.own)));
      read_packet(one.lent);
      const auto answer = read_packet(one.client);
      for (auto* socket : {&one.own, &one.lent}) asio::write(*socket, asio::buffer(answer));
      asio::write(one.client, asio::buffer(read_packet(one.own)));
      read_packet(one.lent);
    } catch (const boost::system::system_error&) {
      return;  // somebody has gone
    }
    links_.push_back(std::move(one));
  }

  bool serve(link& one, const pollfd* ready) try {
    if (ready[0].revents != 0) {
      const auto packet = read_packet(one.client);
      asio::write(place_of(one, packet.at(4)), asio::buffer(packet));
    }
    std::array<char, 16'384> some{};
    for (auto* from : {&one.own, &one.lent})
      if (ready[from == &one.own ? 1 : 2].revents != 0)
        asio::write(one.client, asio::buffer(some.data(), from->read_some(asio::buffer(some))));
    return true;
  } catch (const boost::system::system_error&) {
    return false;
  }

  tcp::socket& place_of(link& one, char command) {
    const auto what = what_.load();
    const bool query = command == query_command;
    if (query) one.turn = !one.turn;
    const bool lent = what == lends::everything || (query && what == lends::every_query) ||
                      (query && what == lends::every_other_query && one.turn);
    return lent ? one.lent : one.own;
  }

  std::atomic<lends> what_;
  asio::io_context context_;
  const tcp::endpoint server_;
  tcp::acceptor acceptor_{context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::list<link> links_;
  std::atomic<bool> stop_{false};
  std::thread thread_{[this] { run(); }};
};

mariadb_pooler::mariadb_pooler(const mariadb_server& server, lends what)
    : inside_(std::make_unique<inside>(server.port(), what)) {}
mariadb_pooler::~mariadb_pooler() = default;

std::string mariadb_pooler::url(const std::string& query) const {
  return mariadb_server::url_at(inside_->port(), query);
}
void mariadb_pooler::lend(lends what) { inside_->lend(what); }

}  // namespace interlock::test_support

#endif
