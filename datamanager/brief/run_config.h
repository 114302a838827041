#ifndef DATAMANAGER_BRIEF_RUN_CONFIG_H_
#define DATAMANAGER_BRIEF_RUN_CONFIG_H_

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "datamanager/query/run_facts.h"

namespace datamanager {

// The configuration that a run was started with, as queries and comparisons see it: the values of
// params.json, those of nested objects under joined names ("net/depth"). A list, and an object
// without members, is one value: its JSON. If two values come to have one name, one of them counts.
// Any thread once it is made.
class RunConfig {
 public:
  static constexpr std::size_t kMaxSize = 1 << 20;  // Bytes of the text.
  static constexpr std::size_t kMaxDepth = 64;      // Levels of lists and objects within each
                                                    // other.

  // InvalidArgument: the text is no JSON object, or has more than that.
  static absl::StatusOr<RunConfig> Parse(std::string_view text);
  // Makes a configuration of JSON texts under their names; a text that is no JSON, or has more
  // levels, becomes a string.
  static RunConfig Of(const std::map<std::string, std::string>& values);

  RunConfig() = default;  // Empty.
  RunConfig(RunConfig&&) = default;
  RunConfig& operator=(RunConfig&&) = default;

  // Sorted by name. Valid as long as this object, also when it has moved.
  std::span<const ConfigFacts> facts() const { return facts_; }

 private:
  struct Value {
    std::string name;
    std::string text;
    std::optional<double> number;
    bool is_text = false;
  };

  class Flattening;

  explicit RunConfig(std::vector<Value> values);

  // The views in the facts are of the values, which stay where they are.
  std::vector<Value> values_;
  std::vector<ConfigFacts> facts_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_BRIEF_RUN_CONFIG_H_
