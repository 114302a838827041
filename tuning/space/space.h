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

// The kind of a parameter's values, and how likely each value is before anything is known.
enum class Kind { kFloat, kInt, kCategory };
enum class Distribution {
  kUniform,
  kLogUniform,         // Its logarithm is uniform.
  kInverseLogUniform,  // The logarithm of its inverse is uniform.
  kNormal,             // Unbounded, of `mean` and `deviation`.
  kLogNormal,          // Its logarithm is normal, of `mean` and `deviation`.
};

// Active only while another parameter, which comes before it, has one of these values.
struct Condition {
  std::string parameter;
  std::vector<std::string> values;  // JSON texts.
};

struct Parameter {
  std::string name = {};
  Kind kind = Kind::kFloat;
  Distribution distribution = Distribution::kUniform;
  // Both inclusive; not of a normal distribution, nor of a category.
  double low = 0;
  double high = 1;
  double mean = 0;
  double deviation = 1;
  // Values are multiples of it away from `low` (from 0 where there is no `low`); 0: any.
  double step = 0;
  // The values of a category: JSON texts, each once. The identity of a value is its text, never its
  // place in the list.
  std::vector<std::string> values = {};
  // Probability of each value of a category; empty: equal ones.
  std::vector<double> probabilities = {};
  std::optional<Condition> when = std::nullopt;

  // Numbers that have a nearest neighbour: floats without a step.
  bool IsContinuous() const { return kind == Kind::kFloat && step == 0; }
  // How many values there are; nullopt: more than can be counted.
  std::optional<std::size_t> Count() const;
  // The value at quantile `unit`, in [0, 1], of the distribution. A category's is its index in
  // `values`.
  double FromUnit(double unit) const;
  // The middle of the quantiles that lead to `value`. For a category: its index.
  double ToUnit(double value) const;
  // The quantiles that lead to `value`: of an integer or a step an interval, else one number twice.
  // Not of a category.
  std::pair<double, double> UnitCell(double value) const;
  // `value` as JSON: 3, 0.1, 1e-05, "adam".
  std::string Text(double value) const;
  // The reverse of Text(); InvalidArgument says why `text` is none of this parameter's values.
  absl::StatusOr<double> Parse(std::string_view text) const;
};

// A value for each parameter, in the order of the space; NaN for one that is not active.
using Point = std::vector<double>;

// The parameters of a search. Immutable.
class Space {
 public:
  // InvalidArgument names the parameter and what is wrong with it.
  static absl::StatusOr<Space> Create(std::vector<Parameter> parameters);

  std::size_t size() const { return parameters_.size(); }
  const Parameter& operator[](std::size_t i) const { return parameters_[i]; }
  std::optional<std::size_t> Find(std::string_view name) const;

  // Whether parameter `i` is active where those before it have the values of `point`.
  bool IsActive(std::size_t i, const Point& point) const;
  // Sets what is not active to NaN.
  void Deactivate(Point& point) const;
  // Parameters that are always active together, in order: the first of them stands before the first
  // of the next group, and what a group's condition looks at stands in a group before it.
  const std::vector<std::vector<std::size_t>>& groups() const { return groups_; }
  // All points, if there are at most `limit`; inactive parameters make no difference.
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

// The standard normal distribution: the probability of less than `x`, and the value below which the
// probability is `p`, in (0, 1).
double NormalCdf(double x);
double NormalQuantile(double p);

}  // namespace tuning

#endif  // TUNING_SPACE_SPACE_H_
