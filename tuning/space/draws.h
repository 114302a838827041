#ifndef TUNING_SPACE_DRAWS_H_
#define TUNING_SPACE_DRAWS_H_

#include <cstdint>
#include <string_view>

namespace tuning {

// A stream of random numbers that is a pure function of its name: the same seed, purpose, trial and
// parameter give the same numbers in every process and version, in whatever order streams are
// created. So there is no state to save, and adding a parameter does not change the values of
// others. The numbers never change (draws_test.cc checks some): an upgrade repeats earlier draws.
class Draws {
 public:
  // `purpose` separates the draws of one trial: "random", "donor", ...
  Draws(std::uint64_t seed, std::string_view purpose, std::uint64_t trial,
        std::string_view parameter = {});

  // Returns 64 random bits.
  std::uint64_t Bits();
  // Returns a number in [0, 1), a multiple of 2^-53.
  double Uniform();
  // Returns a number in [0, count), without bias; `count` is at least 1.
  std::uint64_t Below(std::uint64_t count);

 private:
  std::uint64_t stream_;
  std::uint64_t drawn_ = 0;
};

}  // namespace tuning

#endif  // TUNING_SPACE_DRAWS_H_
