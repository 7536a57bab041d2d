// SPDX-License-Identifier: MIT
#include "cli/arguments.hpp"

#include "cli/secrets.hpp"
#include "cli/words.hpp"
#include "core/names.hpp"

#include <interlock/url.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <iterator>
#include <limits>

#include <fcntl.h>

namespace interlock::cli {
namespace {

constexpr unsigned of(std::same_as<verb> auto... which) { return ((1U << static_cast<unsigned>(which)) | ...); }
constexpr unsigned runs = of(verb::run, verb::attempt);
constexpr unsigned lists = of(verb::ls, verb::show);
constexpr unsigned stores = runs | lists | of(verb::evict, verb::doctor);
constexpr unsigned every = (1U << verb_count) - 1;

failure wrong(std::string text) { return failure(errc::invalid_argument, text); }
std::string str(std::string_view text) { return std::string(text); }
std::string in_quotes(std::string_view text) {
  return "\"" + safe(text.substr(0, 60)) + (text.size() > 60 ? "...\"" : "\"");
}

// A hundred years: what is longer overflows somebody's clock, and was a slip.
constexpr milliseconds longest = std::chrono::hours(876'000);

result<milliseconds> duration(std::string_view option, std::string_view text, bool zero_allowed) {
  auto span = parse_duration(text);
  if (!span) return wrong(str(option) + " " + in_quotes(text) + " is not a duration: write 250ms, 5s, 2m or 1h");
  if (*span > longest) return wrong(str(option) + " " + in_quotes(text) + " is longer than 876000h");
  if (!zero_allowed && *span == milliseconds::zero())
    return wrong(str(option) + " " + in_quotes(text) + " must be longer than zero");
  return *span;
}

template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.front() == '-') return {};
  return value;
}

result<permits_wanted> permits(std::string_view text) {
  constexpr std::uint32_t most = std::numeric_limits<std::int32_t>::max();
  const auto slash = text.find('/');
  const auto bad = [&](std::string_view rule) { return wrong("--permits " + in_quotes(text) + " " + str(rule)); };
  if (slash == std::string_view::npos) return bad("is not of the form K/N: take K permits out of N");
  const auto take = whole_number<std::uint32_t>(text.substr(0, slash));
  const auto limit = whole_number<std::uint32_t>(text.substr(slash + 1));
  if (!take || !limit) return bad("is not of the form K/N with two whole numbers up to 2147483647");
  if (*take == 0 || *limit == 0) return bad("asks for no permit: both numbers start at 1");
  if (*limit > most) return bad("has a limit above 2147483647");
  if (*take > *limit) return bad("takes more permits than there are");
  return permits_wanted{*take, *limit};
}

result<int> writable_descriptor(std::string_view text) {
  const auto fd = whole_number<int>(text);
  if (!fd) return wrong("--status-fd " + in_quotes(text) + " is not a descriptor number");
  const int flags = ::fcntl(*fd, F_GETFL);
  if (flags < 0) return wrong("--status-fd " + in_quotes(text) + " is not an open descriptor");
  if ((flags & O_ACCMODE) == O_RDONLY) return wrong("--status-fd " + in_quotes(text) + " is not open for writing");
  return *fd;
}

template <class T, class From>
result<void> put(std::optional<T>& into, result<From> value) {
  if (!value) return value.error();
  into = *value;
  return {};
}

void put_store(arguments& into, std::string_view url) {
  into.store = std::string(url);
  blot_password(url);
}

struct option {
  std::string_view name;
  unsigned verbs;
  bool valued;
  result<void> (*set)(arguments&, std::string_view);
};

constexpr std::array all_options{
    option{"--force", of(verb::evict), false,
           [](arguments& a, std::string_view) { return a.force = true, result<void>(); }},
    option{"--handle", of(verb::evict), true,
           [](arguments& a, std::string_view v) { return a.handle = v, result<void>(); }},
    option{"--help", every, false, [](arguments& a, std::string_view) { return a.help = true, result<void>(); }},
    option{"--json", lists | of(verb::evict, verb::doctor, verb::version), false,
           [](arguments& a, std::string_view) { return a.json = true, result<void>(); }},
    option{"--lease", runs, true,
           [](arguments& a, std::string_view v) { return put(a.lease, duration("--lease", v, false)); }},
    option{"--lock-delay", runs, true,
           [](arguments& a, std::string_view v) { return put(a.lock_delay, duration("--lock-delay", v, true)); }},
    option{"--max-hold", runs, true,
           [](arguments& a, std::string_view v) { return put(a.max_hold, duration("--max-hold", v, false)); }},
    option{"--permits", runs, true, [](arguments& a, std::string_view v) { return put(a.permits, permits(v)); }},
    option{"--purpose", runs, true, [](arguments& a, std::string_view v) { return a.purpose = v, result<void>(); }},
    option{"--quiet", every, false, [](arguments& a, std::string_view) { return a.quiet = true, result<void>(); }},
    option{"--shared", runs, false, [](arguments& a, std::string_view) { return a.shared = true, result<void>(); }},
    option{"--status-fd", runs, true,
           [](arguments& a, std::string_view v) { return put(a.status_fd, writable_descriptor(v)); }},
    option{"--store", stores, true, [](arguments& a, std::string_view v) { return put_store(a, v), result<void>(); }},
    option{"--wait", of(verb::run), true,
           [](arguments& a, std::string_view v) { return put(a.wait, duration("--wait", v, true)); }},
};

const option* find_option(std::string_view name) {
  if (name == "-h") name = "--help";
  if (name == "-q") name = "--quiet";
  const auto* found =
      std::find_if(all_options.begin(), all_options.end(), [&](const option& one) { return one.name == name; });
  return found == all_options.end() ? nullptr : found;
}

failure unknown_option(std::string_view name) {
  std::array<std::string_view, all_options.size()> names;
  std::transform(all_options.begin(), all_options.end(), names.begin(), [](const option& one) { return one.name; });
  const auto like = nearest(name, names.data(), names.data() + names.size());
  return wrong("unknown option " + in_quotes(name) + (like.empty() ? "" : "; did you mean " + str(like) + "?"));
}

result<verb> find_verb(std::string_view word) {
  const auto* found = std::find(std::begin(verb_names), std::end(verb_names), word);
  if (found != std::end(verb_names)) return static_cast<verb>(found - std::begin(verb_names));
  const auto like = nearest(word, std::begin(verb_names), std::end(verb_names));
  return wrong("unknown verb " + in_quotes(word) +
               (like.empty() ? "; `interlock help` lists them" : "; did you mean `interlock " + str(like) + "`?"));
}

struct word_rule {
  std::size_t least, most;
  std::string_view missing;
};
constexpr word_rule word_rules[verb_count] = {
    {1, 1, "NAME, the lock's name"},
    {1, 1, "NAME, the lock's name"},
    {0, 1, ""},
    {1, 1, "NAME, the lock's name"},
    {1, 1, "NAME, the lock's name"},
    {0, 1, ""},
    {0, 1, ""},
    {0, 0, ""},
    {0, 0, ""},
    {0, 1, ""},
};

result<void> check_words(const arguments& got) {
  const auto& rule = word_rules[static_cast<std::size_t>(got.what)];
  const auto name = str(to_string(got.what));
  const bool running = got.what == verb::run || got.what == verb::attempt;
  if (got.words.size() < rule.least)
    return wrong(name + " needs " + str(rule.missing) + "; see `interlock help " + name + "`");
  if (got.words.size() > rule.most) {
    if (running && got.command.empty())
      return wrong(name + " needs \"--\" before the command: interlock " + name + " NAME -- " + safe(got.words[1]) +
                   " ...");
    return wrong(name + " does not know what to do with " + in_quotes(got.words[rule.most]));
  }
  // The store's own limit on length is checked by the store; this one is every store's.
  if (rule.least == 1)
    if (auto good = core::check_name(got.words[0], store_traits{}.name_max); !good)
      return wrong(safe(good.error().message()));
  return {};
}

result<void> check_together(const arguments& got) {
  if (got.what == verb::run || got.what == verb::attempt) {
    if (got.command.size() < 2)
      return wrong(str(to_string(got.what)) + " needs a command after \"--\": interlock " + str(to_string(got.what)) +
                   " NAME -- COMMAND [ARGUMENT...]");
    if (got.command.front()[0] == '\0') return wrong("the command after \"--\" is empty");
    if (got.shared && got.permits) return wrong("--shared and --permits exclude each other");
  }
  if (got.what == verb::evict && !got.handle)
    return wrong("break needs --handle H, the claim to end: `interlock show NAME` lists them");
  if (got.what == verb::schema && got.words.empty())
    return wrong("schema needs STORE, a store's name or URL; see `interlock help schema`");
  if (got.store && got.what == verb::doctor && !got.words.empty()) return wrong("doctor was given two stores");
  return {};
}

}  // namespace

result<arguments> parse_arguments(int argc, char** argv) {
  arguments got;
  bool verb_seen = false;
  std::vector<const option*> used;
  int i = 1;
  for (; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    if (word.size() < 2 || word.front() != '-') {
      if (verb_seen) {
        got.words.push_back(word);
        continue;
      }
      auto which = find_verb(word);
      if (!which) return which.error();
      got.what = *which;
      verb_seen = true;
      continue;
    }
    if (word == "--version" && !verb_seen) {
      got.what = verb::version;
      verb_seen = true;
      continue;
    }
    const auto equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
    const auto* known = find_option(word.substr(0, equals));
    if (known == nullptr) return unknown_option(word.substr(0, equals));
    std::string_view value;
    if (equals != std::string_view::npos) value = word.substr(equals + 1);
    if (known->valued && equals == std::string_view::npos) {
      if (i + 1 >= argc || std::string_view(argv[i + 1]) == "--") return wrong(str(known->name) + " needs a value");
      value = argv[++i];
    } else if (!known->valued && equals != std::string_view::npos) {
      return wrong(str(known->name) + " takes no value");
    }
    if (auto done = known->set(got, value); !done) return done.error();
    used.push_back(known);
  }
  for (const auto* one : used)
    if ((one->verbs & of(got.what)) == 0)
      return wrong(str(one->name) + " is no option of `interlock " + str(to_string(got.what)) + "`");
  if (got.help) return got;

  if (got.what == verb::run || got.what == verb::attempt) {
    if (i < argc) got.command.assign(argv + i + 1, argv + argc + 1);
  } else {
    for (++i; i < argc; ++i) got.words.emplace_back(argv[i]);  // names that begin with a dash
  }
  if (auto good = check_words(got); !good) return good.error();
  if (auto good = check_together(got); !good) return good.error();
  if (got.what == verb::doctor && !got.words.empty()) put_store(got, got.words[0]);
  if (got.what == verb::schema) {
    put_store(got, got.words[0]);
    if (got.store->find(':') == std::string::npos) *got.store += ':';  // the name alone
  }
  return got;
}

}  // namespace interlock::cli
