// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/cells.hpp>

/// The waist's questions as plain calls, for tests that talk to a backend without an engine. A store that does not
/// answer within ten seconds: errc::indeterminate.
namespace interlock::inline v1::testing {

result<standing> enter(backend& store, const claim& who, entry how = entry::queue);
result<standing> look(backend& store, const claim& who);
result<standings> look(backend& store, std::span<const claim> whom);
result<departure> leave(backend& store, const claim& who, finality how = finality::answered);
result<standing> convert(backend& store, const claim& who, lock_mode mode, std::uint32_t weight,
                         entry how = entry::attempt);
result<survey_page> survey(backend& store, survey_query what);
result<bool> evict(backend& store, std::string_view name, const claim_id& who, bool force);

result<cell> read(cell_store& store, std::string_view name);
result<version> write_if(cell_store& store, const cell_write& what);
/// With a mark nobody else has.
cell_write fresh_write(std::string_view name, version expected, std::optional<std::string_view> value);

/// A claim nobody else has.
claim fresh_claim(std::string_view name, milliseconds lease = std::chrono::seconds{10});
claim shared_claim(std::string_view name, milliseconds lease = std::chrono::seconds{10});
claim permit_claim(std::string_view name, std::uint32_t weight, std::uint32_t capacity,
                   milliseconds lease = std::chrono::seconds{10});

}  // namespace interlock::inline v1::testing
