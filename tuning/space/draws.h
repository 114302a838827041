#ifndef TUNING_SPACE_DRAWS_H_
#define TUNING_SPACE_DRAWS_H_

#include <cstdint>
#include <string_view>

namespace tuning {

// A stream of random numbers that is a pure function of its name: the same seed, purpose, trial and
// parameter give the same numbers in every process and version, in whichever order streams are
// asked. So there is no state to save, and a parameter that is added moves no other one's values.
// The numbers are fixed for ever (draws_test.cc has some of them): what was drawn once is drawn
// again after an upgrade.
class Draws {
 public:
  // `purpose` keeps apart what is drawn for one trial: "random", "donor", ...
  Draws(std::uint64_t seed, std::string_view purpose, std::uint64_t trial,
        std::string_view parameter = {});

  std::uint64_t Bits();
  // In [0, 1), a multiple of 2^-53.
  double Uniform();
  // In [0, count), without bias; `count` is at least 1.
  std::uint64_t Below(std::uint64_t count);

 private:
  std::uint64_t stream_;
  std::uint64_t drawn_ = 0;
};

}  // namespace tuning

#endif  // TUNING_SPACE_DRAWS_H_
