#ifndef TUNING_SPACE_CONSTRAINT_H_
#define TUNING_SPACE_CONSTRAINT_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tuning/space/config.h"

namespace tuning {

// Name and value of a metric.
using MetricValue = std::pair<std::string, double>;

// A condition on a trial's parameters, such as "layers * width <= 1024 and not (lr > 0.1)", or on
// the metrics that it reports: numbers, 'strings', names (in `backquotes` if they contain other
// characters), + - * /, comparisons, and, or, not, parentheses; true and false are 1 and 0. It does
// not apply to a trial that lacks one of its names. Immutable; copies are cheap.
class Constraint {
 public:
  // InvalidArgument says what is expected at which byte. (Names are not checked.)
  static absl::StatusOr<Constraint> Parse(std::string_view text);

  // An ordering comparison of a string with a number does not hold.
  bool Holds(const Config& config) const;
  // Returns how far the constraint is from holding, in the unit of the numbers that it compares: 0
  // or less if it holds. Infinite if it does not hold and a number is NaN. Nullopt if a name is in
  // neither `config` nor `metrics`.
  std::optional<double> Excess(const Config& config, std::span<const MetricValue> metrics) const;
  const std::vector<std::string>& names() const { return names_; }
  const std::string& text() const { return text_; }

  struct Names;
  struct Node;

 private:
  Constraint() = default;

  std::string text_;
  std::vector<std::string> names_;
  std::shared_ptr<const Node> root_;
};

// Returns the first constraint that does not hold; null if all hold. Valid as long as
// `constraints`.
const Constraint* FindBroken(const std::vector<Constraint>& constraints, const Config& config);
inline bool Allow(const std::vector<Constraint>& constraints, const Config& config) {
  return FindBroken(constraints, config) == nullptr;
}

}  // namespace tuning

#endif  // TUNING_SPACE_CONSTRAINT_H_
