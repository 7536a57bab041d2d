// SPDX-License-Identifier: MIT
#include <interlock/error.hpp>

#include <atomic>
#include <cstddef>
#include <utility>

namespace interlock::inline v1 {
namespace {

std::string_view describe(errc code) noexcept {
  switch (code) {
    case errc::busy: return "somebody else has the lock";
    case errc::cancelled: return "cancelled by the caller";
    case errc::lost: return "the lock is not held any more";
    case errc::unavailable: return "the store could not be asked; nothing happened";
    case errc::indeterminate: return "no answer from the store; it may have happened and is being undone";
    case errc::conflict: return "somebody changed the value first";
    case errc::deadlock: return "waiting could never end";
    case errc::closed: return "this client is closed";
    case errc::unsupported: return "this store cannot do that";
    case errc::invalid_argument: return "invalid argument";
    case errc::denied: return "permission denied";
    case errc::internal: return "a bug in interlock";
  }
  return "unknown interlock error";
}

class interlock_category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "interlock"; }
  [[nodiscard]] std::string message(int code) const override { return std::string(describe(static_cast<errc>(code))); }
  [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
    switch (static_cast<errc>(code)) {
      case errc::busy: return std::errc::device_or_resource_busy;
      case errc::cancelled: return std::errc::operation_canceled;
      case errc::lost: return std::errc::owner_dead;
      case errc::unavailable: return std::errc::resource_unavailable_try_again;
      case errc::indeterminate: return std::errc::timed_out;
      case errc::deadlock: return std::errc::resource_deadlock_would_occur;
      case errc::closed: return std::errc::bad_file_descriptor;
      case errc::unsupported: return std::errc::not_supported;
      case errc::invalid_argument: return std::errc::invalid_argument;
      case errc::denied: return std::errc::permission_denied;
      case errc::conflict:
      case errc::internal: break;
    }
    return {code, *this};
  }
};

}  // namespace

const std::error_category& category() noexcept {
  static const auto* one = new interlock_category;  // never destroyed: codes may be compared while the program exits
  return *one;
}

std::error_code make_error_code(errc code) noexcept { return {static_cast<int>(code), category()}; }

std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::busy: return "busy";
    case errc::cancelled: return "cancelled";
    case errc::lost: return "lost";
    case errc::unavailable: return "unavailable";
    case errc::indeterminate: return "indeterminate";
    case errc::conflict: return "conflict";
    case errc::deadlock: return "deadlock";
    case errc::closed: return "closed";
    case errc::unsupported: return "unsupported";
    case errc::invalid_argument: return "invalid_argument";
    case errc::denied: return "denied";
    case errc::internal: return "internal";
  }
  return "unknown";
}

struct failure::words {
  const std::string text;
  std::atomic<std::size_t> copies{1};
};

failure::failure(errc code, std::string_view text) : code_(code) {
  if (!text.empty()) words_ = new words{std::string(text)};
}

void failure::share() const noexcept { words_->copies.fetch_add(1, std::memory_order_relaxed); }

void failure::drop() noexcept {
  if (words_->copies.fetch_sub(1, std::memory_order_acq_rel) == 1) delete words_;
}

const std::string& failure::message() const noexcept {
  static const std::string none;
  return words_ != nullptr ? words_->text : none;
}

lock_error::lock_error(failure why) : std::system_error(why.code(), why.message()), why_(std::move(why)) {}

}  // namespace interlock::inline v1
