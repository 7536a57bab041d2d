// SPDX-License-Identifier: MIT
// Replaces the C library's malloc family by itself with a counter in front: operator new ends there too, and so do
// SQLite and the standard library.
#include "heap.hpp"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

constinit std::atomic<bool> watching{false};
constinit std::atomic<std::uint64_t> made{0};
constinit std::atomic<std::int64_t> in_use{0};

constexpr std::int64_t block_overhead = 8;

void* came(void* block) {
  if (block != nullptr && watching.load(std::memory_order_relaxed)) {
    made.fetch_add(1, std::memory_order_relaxed);
    in_use.fetch_add(static_cast<std::int64_t>(malloc_usable_size(block)) + block_overhead, std::memory_order_relaxed);
  }
  return block;
}

void goes(void* block) {
  if (block != nullptr && watching.load(std::memory_order_relaxed))
    in_use.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(block)) + block_overhead, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

// The GNU C library's own names for what we stand in front of. NOLINTBEGIN(readability-identifier-naming)
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* block);
// NOLINTEND(readability-identifier-naming)

void* malloc(std::size_t size) noexcept { return came(__libc_malloc(size)); }
void* calloc(std::size_t count, std::size_t size) noexcept { return came(__libc_calloc(count, size)); }
void* realloc(void* block, std::size_t size) noexcept {
  goes(block);  // counted wrongly if there is no memory left, and then nobody reads the count
  return came(__libc_realloc(block, size));
}
void* memalign(std::size_t alignment, std::size_t size) noexcept { return came(__libc_memalign(alignment, size)); }
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  *out = memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}
void free(void* block) noexcept {
  goes(block);
  __libc_free(block);
}
}

namespace bench {

heap_watch::heap_watch() {
  made.store(0);
  in_use.store(0);
  watching.store(true);
}

heap_watch::~heap_watch() { watching.store(false); }

std::uint64_t heap_watch::allocations() const { return made.load(); }
std::int64_t heap_watch::growth() const { return in_use.load(); }

}  // namespace bench
