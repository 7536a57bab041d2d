// SPDX-License-Identifier: MIT
#pragma once

namespace interlock::inline v1::api {

/// Makes the stores of this build known, once.
void register_builtin_stores();

}  // namespace interlock::inline v1::api
