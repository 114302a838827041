#ifndef BENCH_SEARCH_FUNCTIONS_H_
#define BENCH_SEARCH_FUNCTIONS_H_

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tuning/space/space.h"

namespace bench {

// Functions with a known minimum, on which samplers are compared. Functions of several dimensions
// with their minimum in the middle are shifted, so that no sampler finds it by trying the middle.
struct SearchFunction {
  std::string name;
  tuning::Space space;
  std::function<double(const tuning::Point&)> value;
  // The minimum.
  double least = 0;
};

// Returns Branin, Hartmann6, Ackley5, Rosenbrock4, Rastrigin5, and mixed6: the error of an
// imaginary network over learning rate, optimiser, depth, batch size, weight decay and dropout; in
// mixed6_when one of the optimisers also has a momentum.
std::vector<SearchFunction> SearchFunctions();

// Functions of two values, both to be minimised: the area between the front that was found and
// `worst` measures the front's quality.
struct FrontFunction {
  std::string name;
  tuning::Space space;
  std::function<std::array<double, 2>(const tuning::Point&)> values;
  std::array<double, 2> worst;
};

// Returns Fonseca4, ZDT1 with six dimensions, and Branin with Currin.
std::vector<FrontFunction> FrontFunctions();

}  // namespace bench

#endif  // BENCH_SEARCH_FUNCTIONS_H_
