#ifndef TUNING_SAMPLE_LATIN_HYPERCUBE_H_
#define TUNING_SAMPLE_LATIN_HYPERCUBE_H_

#include <cstdint>

#include "tuning/space/space.h"

namespace tuning {

// Returns the point of trial `number` in a search that begins with `block` points. The range of
// each parameter is divided into `block` equally likely parts, each of which contains one of the
// block's points, so that few points cover the whole range of every parameter. Later blocks use
// other permutations. An inactive parameter is NaN.
Point LatinHypercubePoint(const Space& space, std::uint64_t seed, std::uint64_t number,
                          std::uint64_t block);

}  // namespace tuning

#endif  // TUNING_SAMPLE_LATIN_HYPERCUBE_H_
