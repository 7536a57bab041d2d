// SPDX-License-Identifier: MIT
#pragma once

/// Everything but the Asio bridge, the backend interface and the testing kit.
#include <interlock/client.hpp>
#include <interlock/fence.hpp>
#include <interlock/guard.hpp>
#include <interlock/latch.hpp>
#include <interlock/multi_guard.hpp>
#include <interlock/mutex.hpp>
#include <interlock/recursive_mutex.hpp>
#include <interlock/semaphore.hpp>
#include <interlock/shared_mutex.hpp>
#include <interlock/sql_row.hpp>
#include <interlock/stop.hpp>
