#ifndef TUNING_SPACE_SPACE_H_
#define TUNING_SPACE_SPACE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tuning {

// The type of a parameter's values, and their prior distribution.
enum class Kind { kFloat, kInt, kCategory };
enum class Distribution {
  kUniform,
  kLogUniform,         // Its logarithm is uniform.
  kInverseLogUniform,  // The logarithm of its inverse is uniform.
  kNormal,             // Unbounded, with `mean` and `deviation`.
  kLogNormal,          // Its logarithm is normal, with `mean` and `deviation`.
};

// Makes a parameter active only while an earlier parameter has one of these values.
struct Condition {
  std::string parameter;
  std::vector<std::string> values;  // JSON texts.
};

struct Parameter {
  std::string name = {};
  Kind kind = Kind::kFloat;
  Distribution distribution = Distribution::kUniform;
  // Inclusive bounds; unused for a normal distribution and for a category.
  double low = 0;
  double high = 1;
  double mean = 0;
  double deviation = 1;
  // Values differ from `low` (from 0 if there is no `low`) by multiples of it; 0: any value.
  double step = 0;
  // The values of a category: distinct JSON texts. A value is identified by its text, never by its
  // place in the list.
  std::vector<std::string> values = {};
  // Probability of each value of a category; empty: all equal.
  std::vector<double> probabilities = {};
  std::optional<Condition> when = std::nullopt;

  // Returns true for floats without a step, whose values have no nearest neighbour.
  bool IsContinuous() const { return kind == Kind::kFloat && step == 0; }
  // Returns the number of values; nullopt if they cannot be counted.
  std::optional<std::size_t> Count() const;
  // Returns the value at quantile `unit`, in [0, 1], of the distribution; for a category, an index
  // in `values`.
  double FromUnit(double unit) const;
  // Returns the middle of the quantiles that lead to `value`; for a category, its index.
  double ToUnit(double value) const;
  // Returns the interval of quantiles that lead to `value`: for an integer or a step an interval,
  // otherwise one number twice. Not for a category.
  std::pair<double, double> UnitCell(double value) const;
  // Returns `value` as JSON: 3, 0.1, 1e-05, "adam".
  std::string Text(double value) const;
  // The reverse of Text(); InvalidArgument says why `text` is not a value of this parameter.
  absl::StatusOr<double> Parse(std::string_view text) const;
};

// A value for each parameter, in the order of the space; NaN for an inactive one.
using Point = std::vector<double>;

// The parameters of a search. Immutable.
class Space {
 public:
  // InvalidArgument names the parameter and what is wrong with it.
  static absl::StatusOr<Space> Create(std::vector<Parameter> parameters);

  std::size_t size() const { return parameters_.size(); }
  const Parameter& operator[](std::size_t i) const { return parameters_[i]; }
  std::optional<std::size_t> Find(std::string_view name) const;

  // Returns whether parameter `i` is active, given the earlier values of `point`.
  bool IsActive(std::size_t i, const Point& point) const;
  // Sets inactive parameters to NaN.
  void Deactivate(Point& point) const;
  // Groups of parameters that are always active together, in order: a group's first parameter
  // precedes the first of the next group, and the parameter that a group's condition refers to is
  // in an earlier group.
  const std::vector<std::vector<std::size_t>>& groups() const { return groups_; }
  // Returns all points if there are at most `limit`; inactive parameters make no difference.
  std::optional<std::vector<Point>> All(std::size_t limit) const;

 private:
  struct Gate {
    std::size_t parameter = 0;
    std::vector<double> values = {};  // Values of `parameter`.
  };
  explicit Space(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {}
  absl::Status AddGates();
  void AddGroups();

  std::vector<Parameter> parameters_;
  std::vector<std::optional<Gate>> gates_;
  std::vector<std::vector<std::size_t>> groups_;
};

// The standard normal distribution: the probability of a value below `x`, and the value below which
// the probability is `p`, in (0, 1).
double NormalCdf(double x);
double NormalQuantile(double p);

}  // namespace tuning

#endif  // TUNING_SPACE_SPACE_H_
