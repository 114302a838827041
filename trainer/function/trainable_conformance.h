#ifndef TRAINER_FUNCTION_TRAINABLE_CONFORMANCE_H_
#define TRAINER_FUNCTION_TRAINABLE_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <string>

#include "trainer/function/trainable.h"

namespace trainer {

// Makes trainables for the suite. In each step they report {"count": n}, n from 1, and save a
// checkpoint of it; they go on from one, and end after `last`. Their own directory is `directory`.
using MakeTrainable =
    std::function<std::unique_ptr<Trainable>(const std::string& directory, int last)>;

// Tests the promises of every trainable (trainable.h). GoogleTest failures say which one is broken.
void ExpectConformingTrainable(const MakeTrainable& make);

}  // namespace trainer

#endif  // TRAINER_FUNCTION_TRAINABLE_CONFORMANCE_H_
