// SPDX-License-Identifier: MIT
#include "backends/etcd/http2_session.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace interlock::inline v1::etcd_store {
namespace {

// Large, so that the server hardly ever waits to be told that there is room again.
constexpr std::int32_t window = std::int32_t{1} << 24;
constexpr std::size_t most_fields = 16 << 10;  // bytes of one exchange
constexpr std::size_t most_owed = 32;          // pings
constexpr std::size_t most_settings_owed = 64;

nghttp2_nv field(std::string_view name, std::string_view value, unsigned flags = 0) {
  // nghttp2 copies nothing of these, and writes nothing into them.
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          static_cast<std::uint8_t>(flags)};
}

std::string_view view(const std::uint8_t* from, std::size_t size) {
  return {reinterpret_cast<const char*>(from), size};
}

}  // namespace

/// Called while receive() and produce() run. What they throw must not pass through nghttp2.
struct http2_session::hooks {
  static http2_session& self(void* data) noexcept { return *static_cast<http2_session*>(data); }

  template <class Work>
  static int safely(Work work) noexcept {
    try {
      return work();
    } catch (...) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                       const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* data) {
    return safely([&] {
      const auto what = self(data).find(frame->hd.stream_id);
      if (!what) return 0;
      what->now_.fields += name_size + value_size + 32;
      if (what->now_.fields > most_fields) {
        self(data).finish(what, {.words = "its answer has too long a header"});
        return static_cast<int>(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE);  // nghttp2 resets the stream
      }
      self(data).heard(*what, view(name, name_size), view(value, value_size));
      return 0;
    });
  }

  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes, std::size_t size,
                     void* data) {
    return safely([&] {
      const auto what = self(data).find(stream);
      if (!what) return 0;
      std::vector<std::string> messages;
      const auto found = what->now_.in.take(view(bytes, size), messages);
      for (auto& one : messages) self(data).told_.push_back({what, std::move(one), {}});
      if (found == message_reader::state::fine) return 0;
      self(data).finish(what, {.words = found == message_reader::state::compressed
                                            ? "its answer is compressed, which was not asked for"
                                            : "its answer is too long"});
      self(data).reset(stream);
      return 0;
    });
  }

  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* data) {
    return safely([&] {
      auto& on = self(data);
      switch (frame->hd.type) {
        case NGHTTP2_SETTINGS: on.greeted_ = on.greeted_ || (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0; return 0;
        case NGHTTP2_GOAWAY: on.leaving_ = true; return 0;
        case NGHTTP2_PING:
          if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) on.owe(frame->ping.opaque_data);
          return on.flooded_ ? static_cast<int>(NGHTTP2_ERR_CALLBACK_FAILURE) : 0;
        case NGHTTP2_HEADERS:
        case NGHTTP2_DATA: break;
        default: return 0;
      }
      if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
      const auto stream = frame->hd.stream_id;
      if (const auto what = on.find(stream)) on.finish(what, end_of(*what));
      if (nghttp2_session_get_stream_local_close(session, stream) == 0) on.reset(stream);  // our side says no more
      return 0;
    });
  }

  static int on_close(nghttp2_session*, std::int32_t stream, std::uint32_t error, void* data) {
    return safely([&] {
      const auto what = self(data).find(stream);
      if (!what) return 0;
      call_end how{.words = std::string("the server ended the call: ") + nghttp2_http2_strerror(error)};
      // Refused are also those above the last one that a GOAWAY names.
      if (error == NGHTTP2_REFUSED_STREAM || !what->now_.begun) how.is = call_end::kind::never_sent;
      self(data).finish(what, std::move(how));
      return 0;
    });
  }

  static int on_sent(nghttp2_session*, const nghttp2_frame* frame, void* data) {
    const auto type = frame->hd.type;
    if (type == NGHTTP2_HEADERS || type == NGHTTP2_DATA || type == NGHTTP2_RST_STREAM) self(data).urgent_ = true;
    if (type != NGHTTP2_HEADERS) return 0;
    if (const auto what = self(data).find(frame->hd.stream_id)) what->now_.begun = true;
    return 0;
  }

  static ssize_t read_body(nghttp2_session*, std::int32_t stream, std::uint8_t* to, std::size_t size,
                           std::uint32_t* flags, nghttp2_data_source*, void* data) {
    const auto what = self(data).find(stream);
    if (!what) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // cancelled: nghttp2 resets the stream
    auto& now = what->now_;
    const auto some = std::min(size, now.unsent.size() - now.sent);
    const bool once = what->kind_ == exchange::kind::one_question;
    if (some == 0 && !once) return NGHTTP2_ERR_DEFERRED;
    std::memcpy(to, now.unsent.data() + now.sent, some);
    now.sent += some;
    if (now.sent < now.unsent.size()) return static_cast<ssize_t>(some);
    now.unsent.clear();
    now.sent = 0;
    if (once) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(some);
  }
};

http2_session::http2_session(std::string authority, bool tls, std::string timeout)
    : authority_(std::move(authority)), timeout_(std::move(timeout)), tls_(tls) {
  nghttp2_session_callbacks* calls = nullptr;
  nghttp2_option* options = nullptr;
  if (nghttp2_session_callbacks_new(&calls) != 0 || nghttp2_option_new(&options) != 0) throw std::bad_alloc();
  nghttp2_session_callbacks_set_on_header_callback(calls, hooks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, hooks::on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(calls, hooks::on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(calls, hooks::on_close);
  nghttp2_session_callbacks_set_on_frame_send_callback(calls, hooks::on_sent);
  nghttp2_option_set_no_auto_ping_ack(options, 1);
  nghttp2_option_set_max_outbound_ack(options, most_settings_owed);
  const int made = nghttp2_session_client_new2(&session_, calls, this, options);
  nghttp2_option_del(options);
  nghttp2_session_callbacks_del(calls);
  if (made != 0) throw std::bad_alloc();
  const nghttp2_settings_entry wanted[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                           {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window},
                                           {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, most_fields}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, wanted, std::size(wanted));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, window);
}

http2_session::~http2_session() { nghttp2_session_del(session_); }

// ---- receiving

bool http2_session::receive(std::string_view bytes) {
  const auto taken =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (flooded_)
    wrong_ = "it sends pings without end";
  else if (taken != static_cast<ssize_t>(bytes.size()))
    wrong_ = std::string("it does not speak HTTP/2 as it should: ") +
             nghttp2_strerror(taken < 0 ? static_cast<int>(taken) : NGHTTP2_ERR_PROTO);
  else if (closing())
    wrong_ = "it does not speak HTTP/2 as it should";
  else if (nghttp2_session_want_read(session_) == 0)
    wrong_ = "it has ended the connection";
  return wrong_.empty();
}

// nghttp2 is about to say GOAWAY, because of what has come.
bool http2_session::closing() const noexcept {
  const bool more_streams = nghttp2_session_get_next_stream_id(session_) <= INT32_MAX;
  return more_streams && !leaving_ && nghttp2_session_check_request_allowed(session_) == 0;
}

exchange_ptr http2_session::find(std::int32_t stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : found->second;
}

void http2_session::finish(const exchange_ptr& what, call_end how) {
  what->now_.over = true;
  streams_.erase(what->now_.stream);
  told_.push_back({what, {}, std::move(how)});
}

void http2_session::heard(exchange& what, std::string_view name, std::string_view value) {
  auto& now = what.now_;
  const auto number = [&](int& to) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), to);
    if (error != std::errc{} || end != value.data() + value.size()) to = -1;
  };
  if (name == ":status")
    number(now.http_status);
  else if (name == "grpc-status")
    number(now.code);
  else if (name == "grpc-message")
    now.words = percent_decoded(value);
}

call_end http2_session::end_of(const exchange& what) {
  const auto& now = what.now_;
  if (now.code >= 0 && now.in.between_messages())
    return {.is = call_end::kind::answered, .code = static_cast<grpc_code>(now.code), .words = now.words};
  if (now.http_status != 200) return {.words = "it answers with HTTP status " + std::to_string(now.http_status)};
  return {.words = now.code >= 0 ? "its answer ends in the middle" : "its answer has no status"};
}

void http2_session::owe(const std::uint8_t* ping) {
  flooded_ = flooded_ || owed_.size() == most_owed;
  if (flooded_) return;
  std::memcpy(owed_.emplace_back().data(), ping, 8);
}

// ---- sending

bool http2_session::produce(std::string& out) {
  const std::uint8_t* some = nullptr;
  for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &some)) > 0;)
    out += view(some, static_cast<std::size_t>(size));
  return std::exchange(urgent_, false);
}

bool http2_session::open(const exchange_ptr& what) {
  auto& now = what->now_;
  std::array<nghttp2_nv, 9> fields;
  std::size_t count = 0;
  constexpr unsigned lasts = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
  const auto add = [&](std::string_view name, std::string_view value, unsigned flags = 0) {
    fields[count++] = field(name, value, NGHTTP2_NV_FLAG_NO_COPY_NAME | flags);
  };
  add(":method", "POST", lasts);
  add(":scheme", tls_ ? "https" : "http", lasts);
  add(":path", what->method_, lasts);
  add(":authority", authority_, lasts);
  add("te", "trailers", lasts);
  add("content-type", "application/grpc", lasts);
  add("hasleader", "true", lasts);  // a member that has lost its leader says so, instead of waiting for one
  if (what->kind_ == exchange::kind::one_question) add("grpc-timeout", timeout_, lasts);
  if (!now.token.empty()) add("token", now.token, NGHTTP2_NV_FLAG_NO_INDEX);
  const nghttp2_data_provider body{{}, hooks::read_body};
  const auto stream = nghttp2_submit_request(session_, nullptr, fields.data(), count, &body, nullptr);
  if (stream < 0) return false;
  now.stream = stream;
  now.over = false;
  streams_.emplace(stream, what);
  urgent_ = true;
  return true;
}

void http2_session::resume(const exchange& what) {
  nghttp2_session_resume_data(session_, what.now_.stream);
  urgent_ = true;
}

void http2_session::reset(std::int32_t stream) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
}

void http2_session::cancel(exchange& what) {
  what.now_.over = true;
  if (streams_.erase(what.now_.stream) > 0) reset(what.now_.stream);
}

void http2_session::ping() {
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  urgent_ = true;
}

void http2_session::answer_pings() {
  for (const auto& one : owed_) nghttp2_submit_ping(session_, NGHTTP2_FLAG_ACK, one.data());
  owed_.clear();
}

std::vector<exchange_ptr> http2_session::all() {
  std::vector<exchange_ptr> out;
  for (auto& [stream, one] : streams_) {
    one->now_.over = true;
    out.push_back(std::move(one));
  }
  streams_.clear();
  return out;
}

}  // namespace interlock::inline v1::etcd_store
