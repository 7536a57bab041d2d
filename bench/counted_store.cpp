// SPDX-License-Identifier: MIT
#include "counted_store.hpp"

#include "core/registry.hpp"

#include <interlock/backend.hpp>

#include <atomic>

namespace bench {
namespace {

using namespace interlock;

std::atomic<std::uint64_t> requests{0};

/// Passes everything on.
class counted_store final : public backend {
 public:
  explicit counted_store(std::unique_ptr<backend> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] const store_traits& traits() const noexcept override { return inner_->traits(); }
  void enter(const claim& who, entry how, inline_work here, completion<standing> done) override {
    ++requests;
    inner_->enter(who, how, here, std::move(done));
  }
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) override {
    ++requests;
    inner_->look(whom, here, std::move(done));
  }
  void leave(const claim& who, finality how, inline_work here, completion<departure> done) override {
    ++requests;
    inner_->leave(who, how, here, std::move(done));
  }
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) override {
    ++requests;
    inner_->convert(who, mode, weight, how, std::move(done));
  }
  void survey(survey_query what, completion<survey_page> done) override {
    ++requests;
    inner_->survey(std::move(what), std::move(done));
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override {
    ++requests;
    inner_->evict(name, who, force, std::move(done));
  }
  void close() noexcept override { inner_->close(); }

 private:
  std::unique_ptr<backend> inner_;
};

void count_requests_of(const std::string& scheme) {
  register_backend("counted-" + scheme, [scheme](const backend_environment& given) -> result<std::unique_ptr<backend>> {
    auto url = given.url;
    url.scheme = scheme;
    const backend_environment environment{url, given.options, given.time, given.events, given.loop};
    auto inner = core::find_backend(scheme)(environment);
    if (!inner) return inner.error();
    return std::unique_ptr<backend>(std::make_unique<counted_store>(std::move(*inner)));
  });
}

}  // namespace

void register_counted_stores() {
  count_requests_of("memory");
  count_requests_of("sqlite");
}

std::uint64_t requests_to_counted_stores() { return requests.load(); }

}  // namespace bench
