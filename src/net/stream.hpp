// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace interlock::inline v1::net {

/// A byte stream over a connected socket, which never blocks unless asked to. Reading and writing may happen on two
/// threads at a time.
class stream {
 public:
  enum class progress : std::uint8_t { done, wants_read, wants_write, ended };
  struct moved {
    std::size_t bytes = 0;
    progress is = progress::done;
  };

  virtual ~stream() = default;
  /// Whatever is there, up to `size` bytes; `done` means at least one.
  virtual moved read(char* to, std::size_t size) noexcept = 0;
  /// The same, after waiting for it for some milliseconds at most, where that costs nothing.
  virtual moved read_soon(char* to, std::size_t size) noexcept { return read(to, size); }
  /// The same, as long as it takes: shutting the socket down ends it.
  virtual moved read_at_last(char* to, std::size_t size) noexcept { return read(to, size); }
  virtual moved write(const char* from, std::size_t size) noexcept = 0;
  /// To be called until it is done, before anything is read or written.
  virtual progress shake_hands() noexcept { return progress::done; }
  /// After `ended`: why.
  [[nodiscard]] virtual std::string reason() const = 0;
};

/// Takes the socket over only in part: whoever made it closes it, after the stream has gone.
std::unique_ptr<stream> plain_stream(int socket);

/// What all TLS connections of a client share: whom to trust, and who we are.
class tls_context;
struct tls_settings {
  std::string ca{};    ///< file with the certificates to trust; empty: the system's
  std::string cert{};  ///< our own, for servers that ask
  std::string key{};
  std::string protocol{};  ///< the one to be spoken over TLS (ALPN); empty: whatever the server expects
};
/// Part of the stores that use it, not of the core: it needs OpenSSL.
result<std::shared_ptr<tls_context>> make_tls_context(const tls_settings& from);

/// The chain and the name (or address) in the certificate are checked; there is no way around that.
result<std::unique_ptr<stream>> tls_stream(int socket, std::shared_ptr<tls_context> context, const std::string& host);

}  // namespace interlock::inline v1::net
