#ifndef TOOLS_YARD_TOP_KEYS_H_
#define TOOLS_YARD_TOP_KEYS_H_

#include <optional>
#include <string>
#include <string_view>

namespace yard::top {

struct Key {
  enum class Kind {
    kText,  // A character.
    kUp,
    kDown,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kEnter,
    kEscape,
    kBackspace,
    kInterrupt,  // Ctrl-C
    kSuspend,    // Ctrl-Z
    kRedraw,     // Ctrl-L
  };
  Kind kind = Kind::kText;
  std::string text = {};
  bool operator==(const Key&) const = default;
};

// Makes keys of the bytes that a terminal sends. Unknown bytes are left out, whole sequences at
// once.
class KeyReader {
 public:
  void Add(std::string_view bytes) { pending_ += bytes; }
  // The next key. Nothing: no key has come, or only its beginning.
  std::optional<Key> Next();
  // An escape has come, and whether it is a key or begins one is open.
  bool is_open() const { return !pending_.empty(); }
  // Nothing more has come for a while: it was a key.
  std::optional<Key> Close();

 private:
  std::string pending_;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_KEYS_H_
