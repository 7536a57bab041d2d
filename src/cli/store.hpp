// SPDX-License-Identifier: MIT
#pragma once

#include "cli/arguments.hpp"

#include <interlock/client.hpp>

#include <string>
#include <string_view>

namespace interlock::cli {

/// The store the arguments, the environment or, failing both, the user's own file name. Says so in the last case,
/// unless told to be quiet: such a lock covers this host and user only.
result<client> open_store(const arguments& got, std::string_view purpose = {});

/// Says why a verb failed and returns its exit code.
int report(const failure& why);

/// "report.sh (pid 4711 on web3)", or as much of it as the store knows.
std::string who(const claim_info& claim);

}  // namespace interlock::cli
