#ifndef RUNTIME_COUNTED_H_
#define RUNTIME_COUNTED_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace runtime {

// Returns "1 restart", "2 restarts", "0 restarts". `many`: the plural, if it is not formed with an
// s.
inline std::string Counted(std::uint64_t count, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(count) + " ";
  text += count == 1 || many.empty() ? one : many;
  if (count != 1 && many.empty()) text += 's';
  return text;
}

}  // namespace runtime

#endif  // RUNTIME_COUNTED_H_
