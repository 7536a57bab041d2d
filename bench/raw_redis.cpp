// SPDX-License-Identifier: MIT
#include "raw_redis.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <system_error>

namespace bench {
namespace {

long number_in(std::string_view line) {
  long out = 0;
  std::from_chars(line.data(), line.data() + line.size(), out);
  return out;
}

}  // namespace

std::string command(std::initializer_list<std::string_view> words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (const auto word : words) {
    out += "$" + std::to_string(word.size()) + "\r\n";
    out.append(word).append("\r\n");
  }
  return out;
}

std::size_t value_length(std::string_view bytes) {
  const auto line = bytes.find('\n');
  if (line == bytes.npos) return 0;
  const auto head = line + 1;
  const auto count = number_in(bytes.substr(1));
  switch (bytes[0]) {
    case '$':
    case '=': {
      const auto length = count < 0 ? head : head + static_cast<std::size_t>(count) + 2;
      return bytes.size() < length ? 0 : length;
    }
    case '*':
    case '>':
    case '%': {
      std::size_t at = head;
      for (auto left = bytes[0] == '%' ? 2 * count : count; left > 0; --left) {
        const auto next = value_length(bytes.substr(at));
        if (next == 0) return 0;
        at += next;
      }
      return at;
    }
    default: return head;
  }
}

namespace {
constexpr std::size_t room = std::size_t{1} << 16;
}

raw_redis::raw_redis(std::uint16_t port) : socket_(connect_to(port)), in_(room, '\0') {}

void raw_redis::renew_room() {
  begin_ = end_ = 0;
  in_.clear();
  in_.resize(room);
}

void raw_redis::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) throw std::system_error(errno, std::generic_category(), "send");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string_view raw_redis::receive() {
  std::size_t length = 0;
  while ((length = value_length(rest())) == 0) {
    if (begin_ == end_) begin_ = end_ = 0;
    if (end_ == in_.size()) {
      in_.erase(0, begin_);
      end_ -= begin_;
      begin_ = 0;
      in_.resize(std::max(in_.size(), end_ * 2));
    }
    const auto got = ::recv(socket_.fd(), in_.data() + end_, in_.size() - end_, 0);
    if (got <= 0) throw std::system_error(errno, std::generic_category(), "recv");
    end_ += static_cast<std::size_t>(got);
  }
  const auto out = rest().substr(0, length);
  begin_ += length;
  if (out[0] == '-') throw std::runtime_error("redis-server says " + std::string(out));
  return out;
}

std::string raw_redis::text(std::initializer_list<std::string_view> words) {
  const auto said = call(command(words));
  const auto line = said.find('\n') + 1;
  return std::string(said.substr(line, said.size() - line - 2));
}

double redis_statistics::script_seconds() {
  const auto said = server_.text({"INFO", "commandstats"});
  const auto line = said.find("cmdstat_evalsha:");
  if (line == said.npos) return 0;
  return static_cast<double>(number_in(std::string_view(said).substr(said.find("usec=", line) + 5))) / 1e6;
}

int redis_statistics::connections() {
  const auto said = server_.text({"CLIENT", "LIST"});
  return static_cast<int>(std::count(said.begin(), said.end(), '\n')) - 1;
}

}  // namespace bench
