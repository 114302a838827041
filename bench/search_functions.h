#ifndef BENCH_SEARCH_FUNCTIONS_H_
#define BENCH_SEARCH_FUNCTIONS_H_

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tuning/space/space.h"

namespace bench {

// Functions whose least value is known, on which samplers are compared. Functions of several
// dimensions whose least value would be in the middle are shifted, so that no sampler finds it by
// trying the middle.
struct SearchFunction {
  std::string name;
  tuning::Space space;
  std::function<double(const tuning::Point&)> value;
  double least = 0;
};

// Branin, Hartmann6, Ackley5, Rosenbrock4, Rastrigin5, and mixed6: the error of a made-up network
// over a learning rate, optimiser, depth, batch size, weight decay and dropout; mixed6_when has a
// momentum, too, with one of the optimisers.
std::vector<SearchFunction> SearchFunctions();

// Functions of two values, of which less is better: the area between the front that was found and
// `worst` says how good a front is.
struct FrontFunction {
  std::string name;
  tuning::Space space;
  std::function<std::array<double, 2>(const tuning::Point&)> values;
  std::array<double, 2> worst;
};

// Fonseca4, ZDT1 of six dimensions, and Branin with Currin.
std::vector<FrontFunction> FrontFunctions();

}  // namespace bench

#endif  // BENCH_SEARCH_FUNCTIONS_H_
