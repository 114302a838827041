#ifndef TOOLS_YARD_TEXT_YAML_H_
#define TOOLS_YARD_TEXT_YAML_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// A value of a YAML or JSON text with its position.
struct YamlNode {
  enum class Kind { kNull, kText, kList, kMap };

  Kind kind = Kind::kNull;
  std::string text;             // For kText. Numbers and booleans are texts too,
  bool quoted = false;          // which are not quoted.
  int line = 0;                 // From 1; 0 if not from a file.
  int column = 0;               // From 1, in characters. A missing value has its key's.
  std::vector<YamlNode> items;  // Items of a list; values of a map, in its order.
  std::vector<YamlNode> keys;   // Keys of a map: texts, all different, one for each item.

  // Returns the value of a key; null if the map lacks the key.
  const YamlNode* Find(std::string_view key) const;
};

// Limit of a text, in bytes.
inline constexpr std::size_t kMaxYamlBytes = 1 << 20;

// Parses one YAML document (JSON is a subset) with yaml-cpp. The text may be untrusted: the limits
// are kMaxYamlBytes, 100,000 values and 16 levels, and it must be valid UTF-8 without control
// characters. Refuses anchors and aliases (a few lines of them can expand to gigabytes), tags, and
// maps with a repeated key.
//
// InvalidArgument is "FILE:LINE:COLUMN: what is wrong", printable.
absl::StatusOr<YamlNode> ParseYaml(std::string_view text, const std::string& file);

// Returns true if the text has only white space and comments, and so no document.
bool HasNoYaml(std::string_view text);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_YAML_H_
