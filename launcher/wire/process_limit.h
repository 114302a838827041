#ifndef LAUNCHER_WIRE_PROCESS_LIMIT_H_
#define LAUNCHER_WIRE_PROCESS_LIMIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launcher {

// A limit as of setrlimit(2). No dependencies, because the static shim links it.
struct ProcessLimit {
  std::string name;                  // "nofile", "core", ...: as of RLIMIT_NAME, in lower case.
  std::uint64_t soft = 0, hard = 0;  // kUnlimited: none.

  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  bool operator==(const ProcessLimit&) const = default;
  // "nofile=1024:4096", "core=0:unlimited".
  std::string ToString() const;
  // Reads "core=0", too, which sets both limits. The name may be unknown.
  static std::optional<ProcessLimit> Parse(std::string_view text);
  // Its number for setrlimit(); -1 if there is no limit of this name.
  int resource() const;
  // The names there are.
  static std::vector<std::string_view> Names();
};

}  // namespace launcher

#endif  // LAUNCHER_WIRE_PROCESS_LIMIT_H_
