#ifndef TOOLS_YARD_TEXT_YAML_H_
#define TOOLS_YARD_TEXT_YAML_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// A value in a YAML or JSON text, and where it begins.
struct YamlNode {
  enum class Kind { kNull, kText, kList, kMap };

  Kind kind = Kind::kNull;
  std::string text;             // kText. Numbers and true are texts too, which
  bool quoted = false;          // are not quoted.
  int line = 0;                 // From 1; 0: not from a file.
  int column = 0;               // From 1, in characters. A value that is not there has its key's.
  std::vector<YamlNode> items;  // Items of a list; values of a map, in its order.
  std::vector<YamlNode> keys;   // Keys of a map: texts, no two alike, one for each item.

  // The value of a key of a map; null if the map lacks the key.
  const YamlNode* Find(std::string_view key) const;
};

// The largest text that is read.
inline constexpr std::size_t kMaxYamlBytes = 1 << 20;

// Reads one document of YAML, of which JSON is a part, with yaml-cpp. The text may come from
// anybody: at most kMaxYamlBytes, 100,000 values, 16 levels; valid UTF-8 without control
// characters. Anchors and aliases (a few lines of them are gigabytes) and tags are refused, and so
// are maps with a key twice.
//
// InvalidArgument: "FILE:LINE:COLUMN: what is wrong", fit for a terminal.
absl::StatusOr<YamlNode> ParseYaml(std::string_view text, const std::string& file);

// True if the text has nothing but white space and comments: it is no document.
bool HasNoYaml(std::string_view text);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_YAML_H_
