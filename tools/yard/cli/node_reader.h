#ifndef TOOLS_YARD_CLI_NODE_READER_H_
#define TOOLS_YARD_CLI_NODE_READER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/yard/text/yaml.h"

namespace yard {

// A key of a map: its documentation, and how its value is read into a Target.
template <typename Target>
struct NodeKey {
  std::string_view name;
  std::string_view type;      // How it is written, in a word or two.
  std::string_view fallback;  // The value if the key is missing.
  std::string_view meaning;   // A sentence or two in Markdown.
  void (*read)(class NodeReader& in, const YamlNode& value, Target* target);
};

// Reads typed values from a YAML tree and collects the errors, so that all are reported together.
// On a wrong value, methods return false and leave the target unchanged.
class NodeReader {
 public:
  // Errors begin with `source`: a file, or a flag. Relative paths are resolved from `directory`.
  NodeReader(std::string source, std::string directory)
      : source_(std::move(source)), directory_(std::move(directory)) {}

  // Adds an error: "SOURCE:LINE:COLUMN: KEY.KEY: what".
  void Wrong(const YamlNode& at, std::string_view what);
  // Returns InvalidArgument with one line for each error, in their order, at most 20.
  absl::Status status() const;

  // Reads a map with these keys; reports an unknown key together with the nearest known one.
  template <typename Target>
  void Keys(const YamlNode& map, std::span<const NodeKey<Target>> known, Target* target);
  // Reports errors inside `read` under `key`.
  template <typename Read>
  void Under(const std::string& key, const Read& read) {
    path_.push_back(key);
    read();
    path_.pop_back();
  }

  // Check the kind of the node; `expected` describes in the error what should be there.
  bool IsMap(const YamlNode& node, std::string_view expected);
  bool IsList(const YamlNode& node, std::string_view expected);
  // Accepts numbers and booleans as text too, as they are written.
  bool Text(const YamlNode& node, std::string* value);
  // Reads a path and makes it absolute. It must not be empty or begin with "~".
  bool Path(const YamlNode& node, std::string* value);
  bool Bool(const YamlNode& node, bool* value);
  template <typename Number>
  bool Whole(const YamlNode& node, std::uint64_t least, std::uint64_t most, Number* value) {
    std::uint64_t number = 0;
    if (!WholeNumber(node, least, most, &number)) return false;
    *value = static_cast<Number>(number);
    return true;
  }
  // Reads a time in milliseconds, rounded up.
  template <typename Number>
  bool Time(const YamlNode& node, std::uint64_t most, Number* value) {
    std::uint64_t number = 0;
    if (!Milliseconds(node, most, &number)) return false;
    *value = static_cast<Number>(number);
    return true;
  }
  // Reads a size in bytes (ParseSize).
  bool Size(const YamlNode& node, std::uint64_t* value);
  // Reads a number from `least` to `most`, both included.
  bool Decimal(const YamlNode& node, double least, double most, double* value);
  // Reads one of `words`; sets `value` to its index.
  bool OneOf(const YamlNode& node, std::span<const std::string_view> words, std::size_t* value);
  // Reads a list of texts.
  bool Texts(const YamlNode& node, std::vector<std::string>* values);
  // Reads a map of texts as "NAME=value", in the order of the map.
  bool Assignments(const YamlNode& node, std::vector<std::string>* values);

 private:
  bool WholeNumber(const YamlNode& node, std::uint64_t least, std::uint64_t most,
                   std::uint64_t* value);
  bool Milliseconds(const YamlNode& node, std::uint64_t most, std::uint64_t* value);
  // Returns the text of a scalar; reports an error that names `form` otherwise.
  const std::string* Scalar(const YamlNode& node, std::string_view form);
  void Expected(const YamlNode& node, std::string_view form);
  void Unknown(const YamlNode& key, const std::vector<std::string_view>& known);

  struct Fault {
    int line, column;
    std::string text;
  };
  const std::string source_, directory_;
  std::vector<std::string> path_;
  std::vector<Fault> faults_;
};

template <typename Target>
void NodeReader::Keys(const YamlNode& map, std::span<const NodeKey<Target>> known, Target* target) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    bool found = false;
    for (const auto& key : known) {
      if (key.name != map.keys[i].text) continue;
      found = true;
      Under(map.keys[i].text, [&] { key.read(*this, map.items[i], target); });
    }
    if (found) continue;
    std::vector<std::string_view> names;
    for (const auto& key : known) names.push_back(key.name);
    Unknown(map.keys[i], names);
  }
}

}  // namespace yard

#endif  // TOOLS_YARD_CLI_NODE_READER_H_
