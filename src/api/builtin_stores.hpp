// SPDX-License-Identifier: MIT
#pragma once

namespace interlock::inline v1::api {

/// Makes the stores of this build known, once.
void register_builtin_stores();

/// This process opens one client, takes a lock and may end a moment later: stores put off what it may not need by then.
void expect_short_life();

}  // namespace interlock::inline v1::api
