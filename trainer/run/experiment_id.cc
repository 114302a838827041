#include "trainer/run/experiment_id.h"

#include "runtime/text/random_id.h"

namespace trainer {

std::string NewExperimentId() {
  for (;;) {
    if (std::string id = runtime::RandomHex128(); id.front() >= 'a') return id;
  }
}

}  // namespace trainer
