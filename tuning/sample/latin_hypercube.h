#ifndef TUNING_SAMPLE_LATIN_HYPERCUBE_H_
#define TUNING_SAMPLE_LATIN_HYPERCUBE_H_

#include <cstdint>

#include "tuning/space/space.h"

namespace tuning {

// The point of trial `number` of a search that begins with `block` points: cut into `block` equally
// likely parts, each parameter has one of the block's points in each part, so that few points see
// the whole range of every parameter. Later blocks have other parts for the same trials. A
// parameter that is not active is NaN.
Point LatinHypercubePoint(const Space& space, std::uint64_t seed, std::uint64_t number,
                          std::uint64_t block);

}  // namespace tuning

#endif  // TUNING_SAMPLE_LATIN_HYPERCUBE_H_
