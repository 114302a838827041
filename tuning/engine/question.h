#ifndef TUNING_ENGINE_QUESTION_H_
#define TUNING_ENGINE_QUESTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tuning/sample/sampler.h"
#include "tuning/space/config.h"
#include "tuning/space/constraint.h"
#include "tuning/space/space.h"

namespace tuning {

// A question to a sampler with everything that the answer depends on: it can be answered anywhere,
// on any thread, and the answer is always the same.
struct Question {
  std::shared_ptr<const Space> space;
  std::shared_ptr<const Sampler> sampler;
  Config constants = {};
  std::vector<Constraint> constraints = {};
  std::uint64_t seed = 0;
  bool duplicates = false;
  std::uint64_t trial = 0;
  std::uint64_t number = 0;  // Number of the question; the answer carries it.
  std::vector<Observation> history = {};

  // Returns a suggestion, or nullopt if nothing is left to try. Without Question::duplicates it
  // differs from the whole history. A suggestion that a constraint forbids is replaced by an
  // allowed point near it.
  std::optional<Config> Answer() const;

 private:
  bool Allows(const Point& point) const;
  std::optional<Point> AllowedNear(const Point& point,
                                   const std::function<bool(const Point&)>& is_tried) const;
};

}  // namespace tuning

#endif  // TUNING_ENGINE_QUESTION_H_
