#ifndef TUNING_SPACE_CONSTRAINT_H_
#define TUNING_SPACE_CONSTRAINT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tuning/space/config.h"

namespace tuning {

// A condition on the parameters of a trial, as in "layers * width <= 1024 and not (lr > 0.1)":
// numbers, 'texts', names of parameters, + - * /, comparisons, and, or, not, parentheses. true and
// false are 1 and 0. It says nothing about a configuration that lacks one of its parameters.
// Immutable; a copy is cheap.
class Constraint {
 public:
  // InvalidArgument says what is expected at which byte. (A name may be any.)
  static absl::StatusOr<Constraint> Parse(std::string_view text);

  // A comparison of a text with a number by order does not hold.
  bool Holds(const Config& config) const;
  const std::vector<std::string>& names() const { return names_; }
  const std::string& text() const { return text_; }

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
