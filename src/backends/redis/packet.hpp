// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/command_text.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace interlock::inline v1::redis_store {

/// A Lua script, called by the SHA-1 of its text.
struct script {
  explicit script(std::string_view source);
  std::string_view text;
  std::string sha;         // 40 hexadecimal digits
  std::string call;        // EVALSHA and the sha, as arguments
  std::string usual_head;  // of a call with one key and one argument: what stands before these
};

/// What one call brings along to a bundle of calls, which are sent as one. The bytes are arguments as they are sent;
/// put together, they are the call.
struct part_of_bundle {
  const script* all = nullptr;  ///< unset: it is sent alone
  std::size_t keys = 0;         ///< how many, the same for all parts
  std::string_view head{}, key_bytes{}, argument_bytes{};
};

/// A call of a script with one key and one argument, both in pieces: what most requests are, and too many to be put
/// together twice. It may join others like it, in one call of `all`, if that is set; see packet::joins().
struct short_call {
  const script* called = nullptr;
  const script* all = nullptr;
  command_text::pieces key{}, argument{};
};

/// One command, ready to be sent, and what is needed to send it again: with the script's text if the server does not
/// know the script, to another server if the keys have moved.
///
///     packet out(scripts.enter, {key_book, key_line, key_ends}, 2);
///     out.arg(who.secret.bytes()).arg(lease.count());
class packet {
 public:
  /// A call of a script. `arguments` says how many arg() follow.
  packet(const script& what, std::initializer_list<std::string_view> keys, std::size_t arguments);
  /// The same with any number of keys, each added by arg() before the arguments; `route` is one of them.
  packet(const script& what, std::string_view route, std::size_t keys, std::size_t arguments);
  explicit packet(const short_call& what);
  /// A command whose beginning, as it is sent, does not change; what follows is added by arg() and as_sent(), first of
  /// all the key that decides where it goes in a cluster.
  struct beginning {
    std::string_view as_sent;
  };
  explicit packet(beginning with);
  /// Any other command; `route`, if not empty, is a key in it, which decides where it goes in a cluster.
  packet(std::initializer_list<std::string_view> words, std::string_view route = {});

  packet& arg(std::string_view bytes) {
    text_->argument(bytes);
    return *this;
  }
  packet& arg(const command_text::pieces& all) {
    text_->argument(all);
    return *this;
  }
  packet& arg(std::int64_t number) {
    text_->argument(number);
    return *this;
  }

  /// Arguments that do not change.
  packet& as_sent(std::string_view arguments) {
    text_->append(arguments);
    return *this;
  }

  /// It may be carried out together with others like it, in one call of `all`: that is given the keys of each, then the
  /// one argument of each, and answers a list, or a number that is the answer to each. Said of a script's call between
  /// its keys and its one argument.
  packet& joins(const script& all) {
    joins_ = &all;
    keys_end_ = text_->size();
    return *this;
  }

  [[nodiscard]] std::string_view bytes() const noexcept { return text_->view(); }
  [[nodiscard]] const script* called() const noexcept { return script_; }
  /// What of it goes into a bundle, if it may be in one.
  [[nodiscard]] part_of_bundle part() const noexcept {
    if (joins_ == nullptr) return {};
    const auto text = bytes();
    return {joins_, keys_, text.substr(0, first_key_), text.substr(first_key_, keys_end_ - first_key_),
            text.substr(keys_end_)};
  }
  [[nodiscard]] std::uint16_t slot() const noexcept;

  packet(const packet&) = delete;
  packet& operator=(const packet&) = delete;
  ~packet();

 private:
  packet();
  std::unique_ptr<command_text> own_;  // only while another one is being put together by this thread
  command_text* text_;                 // this thread's, so that building one allocates nothing after the first
  const script* script_ = nullptr;
  const script* joins_ = nullptr;
  std::size_t keys_ = 0;       // of a script's call: how many
  std::size_t first_key_ = 0;  // where it begins, as an argument; 0: the slot was said
  std::size_t keys_end_ = 0;   // of what joins others: where its argument begins
  std::uint16_t slot_ = 0;
};

/// Is it an EVALSHA?
bool calls_by_name(std::string_view command) noexcept;
/// `called`'s EVALSHA turned into an EVAL with the text.
std::string with_text(std::string_view evalsha, const script& called);

/// Which of a cluster's 16384 slots a key belongs to: CRC16 of it, or of what its first non-empty {braces} hold.
std::uint16_t slot_of(std::string_view key) noexcept;

}  // namespace interlock::inline v1::redis_store
