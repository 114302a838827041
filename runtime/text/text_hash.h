#ifndef RUNTIME_TEXT_TEXT_HASH_H_
#define RUNTIME_TEXT_TEXT_HASH_H_

#include <cstddef>
#include <functional>
#include <string_view>

namespace runtime {

// For an unordered container of std::string that is asked with views, without a copy for it; with
// std::equal_to<>.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

}  // namespace runtime

#endif  // RUNTIME_TEXT_TEXT_HASH_H_
