// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/courier.hpp"

#include <interlock/backend.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace interlock::inline v1::redis_store {

/// How claims are written in Redis. Turns one question about a claim into one packet, and the reply into an answer;
/// the members are those of backend, with the same promises.
class layout {
 public:
  virtual ~layout() = default;

  /// The courier has come up and listens to us: subscribe, hand in scripts.
  virtual void begin() {}
  /// Fills in what this layout can do.
  virtual void describe(store_traits& traits) const = 0;

  virtual void enter(const claim& who, entry how, inline_work here, completion<standing>&& done) = 0;
  virtual void look(std::span<const claim> whom, inline_work here, completion<standings> done) = 0;
  /// The same by another way to the same servers. Who waits for what is known here: what an answer changes in that must
  /// not be learned by another layout.
  virtual void look_by(courier& way, std::span<const claim> whom, inline_work here, completion<standings> done) = 0;
  virtual void leave(const claim& who, finality how, inline_work here, completion<departure>&& done) = 0;
  virtual void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how,
                       completion<standing> done) = 0;
  virtual void survey(survey_query what, completion<survey_page> done) = 0;
  virtual void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) = 0;

  /// nullptr: this layout has no cells.
  [[nodiscard]] virtual cell_store* cells() noexcept { return nullptr; }

  /// A key of this name, for commands that must go where its keys are.
  [[nodiscard]] virtual std::string route(std::string_view name) const { return std::string(name); }

  /// A message came on a channel this layout subscribed to. Anybody may have sent it.
  virtual void message(std::string_view channel, std::string_view payload) noexcept = 0;
};

struct layout_environment {
  courier& way;
  backend_events& events;
  const store_url& url;
  const time_source& time;
};

result<std::unique_ptr<layout>> make_native_layout(const layout_environment& from);
result<std::unique_ptr<layout>> make_plain_layout(const layout_environment& from);
result<std::unique_ptr<layout>> make_redisson_layout(const layout_environment& from);

}  // namespace interlock::inline v1::redis_store
