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

// A key that a map may have, what the reference says of it, and how its value gets into a Target.
template <typename Target>
struct NodeKey {
  std::string_view name;
  std::string_view type;      // How it is written, in a word or two.
  std::string_view fallback;  // The value where the key is not there.
  std::string_view meaning;   // A sentence or two in Markdown.
  void (*read)(class NodeReader& in, const YamlNode& value, Target* target);
};

// Gets values of a kind out of a tree, and collects what is wrong: all of it is told at once. A
// value that is wrong leaves the target as it was, and the result false.
class NodeReader {
 public:
  // `source` is what errors begin with: a file, or a flag. Relative paths begin in `directory`.
  NodeReader(std::string source, std::string directory)
      : source_(std::move(source)), directory_(std::move(directory)) {}

  // "SOURCE:LINE:COLUMN: KEY.KEY: what"
  void Wrong(const YamlNode& at, std::string_view what);
  // InvalidArgument with a line for each place, in their order, at most 20.
  absl::Status status() const;

  // Reads a map whose keys are all of these; an unknown one is told with its nearest neighbour.
  template <typename Target>
  void Keys(const YamlNode& map, std::span<const NodeKey<Target>> known, Target* target);
  // Errors of what `read` reads are told under `key`.
  template <typename Read>
  void Under(const std::string& key, const Read& read) {
    path_.push_back(key);
    read();
    path_.pop_back();
  }

  bool IsMap(const YamlNode& node, std::string_view expected);
  bool IsList(const YamlNode& node, std::string_view expected);
  // Numbers and true are texts as well: they are taken as they are written.
  bool Text(const YamlNode& node, std::string* value);
  bool Path(const YamlNode& node, std::string* value);
  bool Bool(const YamlNode& node, bool* value);
  template <typename Number>
  bool Whole(const YamlNode& node, std::uint64_t least, std::uint64_t most, Number* value) {
    std::uint64_t number = 0;
    if (!WholeNumber(node, least, most, &number)) return false;
    *value = static_cast<Number>(number);
    return true;
  }
  // In milliseconds, rounded up.
  template <typename Number>
  bool Time(const YamlNode& node, std::uint64_t most, Number* value) {
    std::uint64_t number = 0;
    if (!Milliseconds(node, most, &number)) return false;
    *value = static_cast<Number>(number);
    return true;
  }
  bool Size(const YamlNode& node, std::uint64_t* value);
  bool Decimal(const YamlNode& node, double least, double most, double* value);
  bool OneOf(const YamlNode& node, std::span<const std::string_view> words, std::size_t* value);
  bool Texts(const YamlNode& node, std::vector<std::string>* values);
  // Texts by name, as "NAME=value" in the map's order.
  bool Assignments(const YamlNode& node, std::vector<std::string>* values);

 private:
  bool WholeNumber(const YamlNode& node, std::uint64_t least, std::uint64_t most,
                   std::uint64_t* value);
  bool Milliseconds(const YamlNode& node, std::uint64_t most, std::uint64_t* value);
  // The text of a value that must have this form.
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
