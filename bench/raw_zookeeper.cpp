// SPDX-License-Identifier: MIT
#include "raw_zookeeper.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <stdexcept>

namespace bench {
namespace {

constexpr std::int32_t make = 1, remove_it = 2, list_children = 8, farewell = -11;
constexpr std::int32_t lasting = 0, ephemeral_sequential = 3;
constexpr int node_exists = -110;
constexpr std::size_t head = 4 + 4 + 8 + 4;  // length, number, change, error

void put_number(std::string& to, std::int64_t value, int bytes = 4) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) to += static_cast<char>(value >> shift);
}
void put_text(std::string& to, std::string_view text) {
  put_number(to, static_cast<std::int64_t>(text.size()));
  to += text;
}
std::uint32_t number_at(const char* bytes) {
  std::uint32_t out = 0;
  for (int i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(bytes[i]);
  return out;
}

std::string create_of(std::string_view path, std::int32_t kind) {
  std::string out;
  put_number(out, make);
  put_text(out, path);
  put_text(out, {});
  put_number(out, 1);
  put_number(out, 31);
  put_text(out, "world");
  put_text(out, "anyone");
  put_number(out, kind);
  return out;
}

}  // namespace

raw_zookeeper::raw_zookeeper(std::uint16_t port, std::string lock)
    : socket_(connect_to(port)), lock_(std::move(lock)), in_(std::size_t{1} << 16, '\0') {
  std::string hello;
  put_number(hello, 0);
  put_number(hello, 0, 8);
  put_number(hello, 30'000);
  put_number(hello, 0, 8);
  put_text(hello, std::string(16, '\0'));
  hello += '\0';
  put_text(out_, hello);
  send();
  fill(4);
  fill(4 + number_at(in_.data()));
  begin_ = end_;
  put(create_of(lock_, lasting));
  send();
  receive(node_exists);
  create_ = create_of(lock_ + "/_c_01234567-89ab-cdef-0123-456789abcdef-lock-", ephemeral_sequential);
  put_number(list_, list_children);
  put_text(list_, lock_);
  list_ += '\0';
}

raw_zookeeper::~raw_zookeeper() {
  try {
    std::string body;
    put_number(body, farewell);
    put(body);
    send();
    receive();
  } catch (const std::exception&) {  // it ends with its time-out
  }
}

void raw_zookeeper::put(std::string_view body) {
  put_number(out_, static_cast<std::int64_t>(body.size() + 4));
  put_number(out_, ++number_);
  out_ += body;
}

void raw_zookeeper::send() {
  if (::send(socket_.fd(), out_.data(), out_.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(out_.size()))
    throw std::runtime_error("the ZooKeeper server takes nothing");
  out_.clear();
}

void raw_zookeeper::fill(std::size_t least) {
  if (begin_ == end_) begin_ = end_ = 0;
  while (end_ - begin_ < least) {
    const auto got = ::recv(socket_.fd(), in_.data() + end_, in_.size() - end_, 0);
    if (got <= 0) throw std::runtime_error("the ZooKeeper server has closed the connection");
    end_ += static_cast<std::size_t>(got);
  }
}

std::string_view raw_zookeeper::receive(int fine) {
  fill(4);
  const auto size = 4 + number_at(in_.data() + begin_);
  fill(size);
  const std::string_view frame(in_.data() + begin_, size);
  begin_ += size;
  const auto error = static_cast<std::int32_t>(number_at(frame.data() + 16));
  if (error != 0 && error != fine) throw std::runtime_error("ZooKeeper's error " + std::to_string(error));
  return frame.substr(head);
}

void raw_zookeeper::hold() {
  put(create_);
  send();
  receive();
}

void raw_zookeeper::pair() {
  put(create_);
  put(list_);
  send();
  const auto made = receive();
  std::string remove;
  put_number(remove, remove_it);
  remove += made.substr(0, 4 + number_at(made.data()));
  put_number(remove, -1);
  receive();
  put(remove);
  send();
  receive();
}

}  // namespace bench
