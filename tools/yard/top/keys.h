#ifndef TOOLS_YARD_TOP_KEYS_H_
#define TOOLS_YARD_TOP_KEYS_H_

#include <optional>
#include <string>
#include <string_view>

namespace yard::top {

struct Key {
  enum class Kind {
    kText,  // A UTF-8 character.
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

// Decodes a terminal's bytes into keys. Drops unknown bytes, and unknown sequences as a
// whole.
class KeyReader {
 public:
  // Adds bytes from the terminal.
  void Add(std::string_view bytes) { pending_ += bytes; }
  // Returns the next key; nothing if none is complete.
  std::optional<Key> Next();
  // True after an ESC that may be a key or the beginning of a sequence.
  bool is_open() const { return !pending_.empty(); }
  // Call if nothing follows for a while: the ESC was a key.
  std::optional<Key> Close();

 private:
  std::string pending_;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_KEYS_H_
