#ifndef RUNTIME_TEXT_TEXT_HASH_H_
#define RUNTIME_TEXT_TEXT_HASH_H_

#include <cstddef>
#include <functional>
#include <string_view>

namespace runtime {

// Hash for an unordered container of std::string that allows look-ups by string_view without a
// copy; use it with std::equal_to<>.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

}  // namespace runtime

#endif  // RUNTIME_TEXT_TEXT_HASH_H_
