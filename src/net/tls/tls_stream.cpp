// SPDX-License-Identifier: MIT
#include "net/stream.hpp"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

namespace interlock::inline v1::net {

class tls_context {
 public:
  tls_context(SSL_CTX* made, std::string protocol) noexcept : made_(made), protocol_(std::move(protocol)) {}
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;
  ~tls_context() { SSL_CTX_free(made_); }
  [[nodiscard]] SSL_CTX* get() const noexcept { return made_; }
  [[nodiscard]] const std::string& protocol() const noexcept { return protocol_; }

 private:
  SSL_CTX* made_;
  const std::string protocol_;
};

namespace {

std::string last_error() {
  std::string out;
  while (const auto code = ERR_get_error()) {
    char words[256];
    ERR_error_string_n(code, words, sizeof words);
    const char* reason = ERR_reason_error_string(code);
    if (!out.empty()) out += "; ";
    out += reason != nullptr ? reason : words;
  }
  return out;
}

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL: a closed connection would kill the program with SIGPIPE.
struct wire {
  int socket = -1;
  int error = 0;
  bool end = false;
};
int bio_write(BIO* bio, const char* from, int size) {
  auto& self = *static_cast<wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const auto sent = ::send(self.socket, from, static_cast<std::size_t>(size), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<int>(sent);
  if (errno == EAGAIN || errno == EINTR)
    BIO_set_retry_write(bio);
  else
    self.error = errno;
  return -1;
}
int bio_read(BIO* bio, char* to, int size) {
  auto& self = *static_cast<wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const auto got = ::recv(self.socket, to, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (got > 0) return static_cast<int>(got);
  if (got == 0) {
    self.end = true;
    return 0;
  }
  if (errno == EAGAIN || errno == EINTR)
    BIO_set_retry_read(bio);
  else
    self.error = errno;
  return -1;
}
long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* bio_method() {
  static BIO_METHOD* const made = [] {
    auto* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "interlock");
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_ctrl(method, bio_control);
    return method;
  }();
  return made;
}

class tls final : public stream {
 public:
  tls(int socket, std::shared_ptr<tls_context> context, SSL* session)
      : context_(std::move(context)), session_(session) {
    wire_.socket = socket;
    auto* bio = BIO_new(bio_method());
    BIO_set_data(bio, &wire_);
    BIO_set_init(bio, 1);
    SSL_set_bio(session_, bio, bio);
    SSL_set_connect_state(session_);
  }
  tls(const tls&) = delete;
  tls& operator=(const tls&) = delete;
  ~tls() override { SSL_free(session_); }

  progress shake_hands() noexcept override {
    const std::lock_guard lock(mutex_);
    ERR_clear_error();
    const int got = SSL_do_handshake(session_);
    if (got != 1) return outcome(got).is;
    if (agreed()) return progress::done;
    reason_ = "TLS: the server does not speak " + context_->protocol();
    return progress::ended;
  }
  moved read(char* to, std::size_t size) noexcept override {
    const std::lock_guard lock(mutex_);
    ERR_clear_error();
    const int got = SSL_read(session_, to, clamp(size));
    return got > 0 ? moved{static_cast<std::size_t>(got), progress::done} : outcome(got);
  }
  moved write(const char* from, std::size_t size) noexcept override {
    const std::lock_guard lock(mutex_);
    ERR_clear_error();
    const int sent = SSL_write(session_, from, clamp(size));
    return sent > 0 ? moved{static_cast<std::size_t>(sent), progress::done} : outcome(sent);
  }
  [[nodiscard]] std::string reason() const override {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

 private:
  static int clamp(std::size_t size) noexcept { return size > INT_MAX ? INT_MAX : static_cast<int>(size); }

  [[nodiscard]] bool agreed() const noexcept {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(session_, &name, &size);
    return std::string_view(reinterpret_cast<const char*>(name), size) == context_->protocol() ||
           context_->protocol().empty();
  }

  moved outcome(int got) noexcept {
    switch (SSL_get_error(session_, got)) {
      case SSL_ERROR_WANT_READ: return {0, progress::wants_read};
      case SSL_ERROR_WANT_WRITE: return {0, progress::wants_write};
      default: break;
    }
    if (const auto verdict = SSL_get_verify_result(session_); verdict != X509_V_OK)
      reason_ = std::string("the server's certificate is not accepted: ") + X509_verify_cert_error_string(verdict);
    else if (wire_.error != 0)
      reason_ = std::generic_category().message(wire_.error);
    else if (wire_.end)
      reason_ = "the server closed the connection";
    else
      reason_ = "TLS: " + last_error();
    return {0, progress::ended};
  }

  mutable std::mutex mutex_;  // a session may not be read and written at the same time
  std::shared_ptr<tls_context> context_;
  wire wire_{};
  SSL* session_;
  std::string reason_;
};

bool is_address(const std::string& host) {
  unsigned char room[16];
  return inet_pton(AF_INET, host.c_str(), room) == 1 || inet_pton(AF_INET6, host.c_str(), room) == 1;
}

// What SSL_set_tlsext_host_name does, without its casts.
bool announce(SSL* session, std::string host) {
  return SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data()) == 1;
}

}  // namespace

result<std::shared_ptr<tls_context>> make_tls_context(const tls_settings& from) {
  ERR_clear_error();
  auto made = std::make_shared<tls_context>(SSL_CTX_new(TLS_client_method()), from.protocol);
  const auto bad = [](const std::string& what) {
    return failure(errc::invalid_argument, "TLS: " + what + ": " + last_error());
  };
  if (made->get() == nullptr) return bad("no context");
  SSL_CTX_set_min_proto_version(made->get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(made->get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(made->get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (!from.protocol.empty()) {
    const auto offered = static_cast<char>(from.protocol.size()) + from.protocol;
    if (SSL_CTX_set_alpn_protos(made->get(), reinterpret_cast<const unsigned char*>(offered.data()),
                                static_cast<unsigned>(offered.size())) != 0)
      return bad("protocol " + from.protocol);
  }
  if (from.ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(made->get()) != 1) return bad("the system's certificates");
  } else if (SSL_CTX_load_verify_locations(made->get(), from.ca.c_str(), nullptr) != 1) {
    return bad("ca=" + from.ca);
  }
  if (!from.cert.empty()) {
    if (SSL_CTX_use_certificate_chain_file(made->get(), from.cert.c_str()) != 1) return bad("cert=" + from.cert);
    const auto& key = from.key.empty() ? from.cert : from.key;
    if (SSL_CTX_use_PrivateKey_file(made->get(), key.c_str(), SSL_FILETYPE_PEM) != 1) return bad("key=" + key);
    if (SSL_CTX_check_private_key(made->get()) != 1) return bad("key=" + key + " does not belong to cert=" + from.cert);
  }
  return made;
}

result<std::unique_ptr<stream>> tls_stream(int socket, std::shared_ptr<tls_context> context, const std::string& host) {
  ERR_clear_error();
  auto* session = SSL_new(context->get());
  if (session == nullptr) return failure(errc::internal, "TLS: no session: " + last_error());
  auto out = std::make_unique<tls>(socket, std::move(context), session);
  if (is_address(host)) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str()) != 1)
      return failure(errc::internal, "TLS: address " + host + ": " + last_error());
  } else if (SSL_set1_host(session, host.c_str()) != 1 || !announce(session, host)) {
    return failure(errc::internal, "TLS: host name " + host + ": " + last_error());
  }
  return std::unique_ptr<stream>(std::move(out));
}

}  // namespace interlock::inline v1::net
