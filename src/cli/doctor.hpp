// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/client.hpp>
#include <interlock/clock.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The checks of `interlock doctor`.
namespace interlock::cli {

using finding = store_check;
using findings = std::vector<finding>;
std::string_view to_string(finding::verdict verdict) noexcept;

/// What the store says of itself.
void examine_traits(const store_traits& traits, findings& out);
/// What it does: two grants and their tokens and times, and a hand-over between two clients, on a name of its own. Give
/// the same client twice where there can be no second: that leaves the hand-over out.
void examine_grants(const client& first, const client& second, findings& out);
/// The file behind an SQLite store: where it lies, who can touch it, whether it can grow.
void examine_file(const std::string& path, findings& out);

}  // namespace interlock::cli
