// SPDX-License-Identifier: MIT
#include <interlock/client.hpp>

#include "api/builtin_stores.hpp"
#include "api/default_store.hpp"
#include "api/operations.hpp"
#include "core/names.hpp"

#include <interlock/fence.hpp>

#include <utility>

namespace interlock::inline v1 {

using api::guard_of;
using runtime::wanted_claim;

namespace {

template <class T>
T or_throw(result<T> got) {
  if (!got) throw lock_error(got.error());
  return std::move(*got);
}

template <class T>
pending<T> begin(const std::shared_ptr<detail::client_handle>& handle, const wanted_claim& wanted,
                 const std::stop_token& stop) {
  auto& engine = handle->engine();
  auto op = api::make_operation<T>(handle);
  if (stop.stop_requested())
    op->refuse(failure(errc::cancelled, "cancelled before it was asked for"));
  else if (auto begun = engine.begin_async(wanted, op); !begun)
    op->refuse(begun.error());
  else
    op->listen(stop, handle);
  return pending<T>(std::move(op));
}

}  // namespace

client::client(std::string_view url, client_options options) : client(or_throw(connect(url, std::move(options)))) {}

result<client> client::connect(std::string_view url, client_options options) {
  api::register_builtin_stores();
  std::string chosen(url);
  if (chosen.empty()) {
    auto found = api::default_store_url();
    if (!found) return found.error();
    chosen = *found;
  }
  auto engine = runtime::engine::open(chosen, std::move(options), {});
  if (!engine) return engine.error();
  return client(std::make_shared<detail::client_handle>(std::move(*engine)));
}

result<guard> client::attempt(std::string_view name, acquire_options options, std::stop_token stop) const {
  auto got = handle_->engine().acquire(handle_, {name, options, entry::queue, 0}, stop);
  if (!got) return got.error();
  return guard_of(std::move(*got));
}

guard client::acquire(std::string_view name, acquire_options options, std::stop_token stop) const {
  auto got = handle_->engine().acquire(handle_, {name, options, entry::queue, 0}, stop);
  if (!got) [[unlikely]]
    throw lock_error(got.error());
  return guard_of(std::move(*got));
}

std::optional<guard> client::try_acquire(std::string_view name, acquire_options options, std::stop_token stop) const {
  const auto how = options.wait ? entry::queue : entry::attempt;
  auto got = handle_->engine().acquire(handle_, {name, options, how, 0}, stop);
  if (got) return guard_of(std::move(*got));
  if (got.error() == errc::busy) return {};
  throw lock_error(got.error());
}

pending<guard> client::async_acquire(std::string_view name, acquire_options options, std::stop_token stop) const {
  return begin<guard>(handle_, {name, options, entry::queue, 0}, stop);
}

pending<std::optional<guard>> client::async_try_acquire(std::string_view name, acquire_options options,
                                                        std::stop_token stop) const {
  return begin<std::optional<guard>>(handle_, {name, options, options.wait ? entry::queue : entry::attempt, 0}, stop);
}

const store_traits& client::traits() const noexcept { return handle_->engine().traits(); }

const std::string& client::url() const noexcept { return handle_->engine().shown_url(); }

lock_info client::inspect(std::string_view name) const {
  auto& engine = handle_->engine();
  if (auto ok = core::check_name(name, traits().name_max); !ok) throw lock_error(ok.error());
  survey_query what;
  what.prefix = engine.full_name(name);
  what.exact = true;
  auto page = or_throw(engine.survey(std::move(what)));
  lock_info out;
  if (!page.locks.empty()) out = std::move(page.locks.front());
  out.name = name;
  return out;
}

std::vector<lock_info> client::survey(std::string_view prefix) const {
  auto& engine = handle_->engine();
  std::vector<lock_info> out;
  survey_query what;
  what.prefix = engine.full_name(prefix);
  for (bool more = true; more;) {
    auto page = or_throw(engine.survey(what));
    more = page.more && !page.locks.empty();
    if (more) what.after = page.locks.back().name;
    for (auto& one : page.locks) {
      one.name = engine.own_name(one.name);
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::vector<store_check> client::examine() const { return or_throw(handle_->engine().examine()); }

bool client::evict(std::string_view name, claim_id who) const {
  return or_throw(handle_->engine().evict(name, who, false));
}

bool client::evict_by_force(std::string_view name, claim_id who) const {
  return or_throw(handle_->engine().evict(name, who, true));
}

bool client::check(std::string_view sequencer) const {
  if (!traits().survey)
    throw lock_error(failure(errc::unsupported, "the " + traits().store + " store does not tell who has which token"));
  const auto parts = parse_sequencer(sequencer);
  if (!parts) throw lock_error(failure(errc::invalid_argument, "not a sequencer: " + core::shown_name(sequencer)));
  // A block of tokens may be reserved for hand-offs inside the holder's process; a grant whose sequencer was asked for
  // is never handed on there, so if its token is in the standing block, it is the one in use.
  for (const auto& one : inspect(parts->name).holders) {
    if ((one.mode == lock_mode::shared) != parts->shared || !one.token) continue;
    const auto first = one.token->value();
    if (parts->token.value() >= first && parts->token.value() - first < one.tokens) return true;
  }
  return false;
}

void client::close() const noexcept { handle_->engine().close(); }

}  // namespace interlock::inline v1
