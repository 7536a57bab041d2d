// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// How gRPC writes messages and statuses: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
namespace interlock::inline v1::etcd_store {

/// gRPC's own numbers, those that matter here.
enum class grpc_code : int {
  ok = 0,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  unavailable = 14,
  unauthenticated = 16
};

/// What became of a call.
struct call_end {
  enum class kind : std::uint8_t {
    answered,    ///< the server has said `code`
    never_sent,  ///< it was not done, and will not be
    unanswered   ///< it may have been done
  };
  kind is = kind::unanswered;
  grpc_code code = grpc_code::ok;
  std::string words{};
  bool late = false;  ///< there was no answer in time

  [[nodiscard]] bool ok() const noexcept { return is == kind::answered && code == grpc_code::ok; }
};

constexpr std::size_t message_prefix = 5;
/// `framed` is five bytes of any kind and a message: they say now how long it is.
void put_prefix(std::string& framed) noexcept;

/// Takes messages out of a stream of bytes.
class message_reader {
 public:
  enum class state : std::uint8_t { fine, compressed /* which nobody had offered to read */, too_long };
  state take(std::string_view some, std::vector<std::string>& out);
  [[nodiscard]] bool between_messages() const noexcept { return in_.empty(); }

  static constexpr std::size_t longest = std::size_t{64} << 20;

 private:
  std::string in_;
};

/// As grpc-message is written. What is not is taken as it stands.
std::string percent_decoded(std::string_view text);

}  // namespace interlock::inline v1::etcd_store
