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

// The value of a metric, by its name.
using MetricValue = std::pair<std::string, double>;

// A condition on the parameters of a trial, as in "layers * width <= 1024 and not (lr > 0.1)", or
// on the metrics that it reports: numbers, 'texts', names (one with other signs in it in `back
// quotes`), + - * /, comparisons, and, or, not, parentheses. true and false are 1 and 0. It says
// nothing about a trial that lacks one of its names. Immutable; a copy is cheap.
class Constraint {
 public:
  // InvalidArgument says what is expected at which byte. (A name may be any.)
  static absl::StatusOr<Constraint> Parse(std::string_view text);

  // A comparison of a text with a number by order does not hold.
  bool Holds(const Config& config) const;
  // How far it is from holding: 0 or less if it holds, in the unit of what it compares, as far as
  // it compares numbers. Infinite if it does not and a number is NaN. Nothing: a name is in neither
  // `config` nor `metrics`.
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

// The first one that does not hold; null if all hold. Valid as long as `constraints`.
const Constraint* FindBroken(const std::vector<Constraint>& constraints, const Config& config);
inline bool Allow(const std::vector<Constraint>& constraints, const Config& config) {
  return FindBroken(constraints, config) == nullptr;
}

}  // namespace tuning

#endif  // TUNING_SPACE_CONSTRAINT_H_
