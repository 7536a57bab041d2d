// SPDX-License-Identifier: MIT
#pragma once

#include "backends/quorum/quorum.hpp"

#include <memory>
#include <string_view>

namespace interlock::inline v1::quorum_store {

/// Who holds and who waits: a holder is who a quorum of nodes says is one.
void survey(const std::shared_ptr<quorum>& at, survey_query what, completion<survey_page> done);
/// On every node that has it.
void evict(const std::shared_ptr<quorum>& at, std::string_view name, const claim_id& who, bool force,
           completion<bool> done);
/// How the nodes are set up, each of them and together.
void examine(const std::shared_ptr<quorum>& at, completion<std::vector<store_check>> done);

/// What several nodes said about one page of names, put together. `needed` by capacity.
survey_page merge(std::vector<survey_page> pages, const core::quorum_rules& rules, std::size_t most);

}  // namespace interlock::inline v1::quorum_store
