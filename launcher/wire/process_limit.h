#ifndef LAUNCHER_WIRE_PROCESS_LIMIT_H_
#define LAUNCHER_WIRE_PROCESS_LIMIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launcher {

// A resource limit of setrlimit(2). Has no dependencies, because the static shim links it.
struct ProcessLimit {
  // "nofile", "core", ...: the NAME of RLIMIT_NAME in lower case.
  std::string name;
  std::uint64_t soft = 0, hard = 0;  // kUnlimited for no limit.

  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  bool operator==(const ProcessLimit&) const = default;
  // Returns "nofile=1024:4096" or "core=0:unlimited".
  std::string ToString() const;
  // Parses that format, and "core=0", which sets both limits. Accepts unknown names.
  static std::optional<ProcessLimit> Parse(std::string_view text);
  // Returns the limit's number for setrlimit(); -1 if the name is unknown.
  int resource() const;
  // Returns all known names.
  static std::vector<std::string_view> Names();
};

}  // namespace launcher

#endif  // LAUNCHER_WIRE_PROCESS_LIMIT_H_
