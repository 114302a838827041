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

// The configuration with which a run was started, for queries and comparisons: the values of
// params.json; nested objects have joined names ("net/depth"). A list, and an object without
// members, is a single value: its JSON. If two values get the same name, one of them is kept.
// Immutable after construction; any thread.
class RunConfig {
 public:
  // Limits of the text; Parse() refuses a text beyond them.
  static constexpr std::size_t kMaxSize = 1 << 20;  // Bytes of the text.
  static constexpr std::size_t kMaxDepth = 64;      // Nesting of lists and objects.

  // Returns InvalidArgument if the text is not a JSON object or exceeds a limit above.
  static absl::StatusOr<RunConfig> Parse(std::string_view text);
  // Makes a configuration from JSON texts by name; a text that is not JSON, or nested too deeply,
  // becomes a string.
  static RunConfig Of(const std::map<std::string, std::string>& values);

  RunConfig() = default;  // Empty.
  RunConfig(RunConfig&&) = default;
  RunConfig& operator=(RunConfig&&) = default;

  // Sorted by name. Valid as long as this object, even if it was moved.
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

  // The facts are views into the values, whose memory does not move.
  std::vector<Value> values_;
  std::vector<ConfigFacts> facts_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_BRIEF_RUN_CONFIG_H_
