#ifndef TRAINER_FUNCTION_TRAINABLE_CONFORMANCE_H_
#define TRAINER_FUNCTION_TRAINABLE_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <string>

#include "trainer/function/trainable.h"

namespace trainer {

// Makes trainables for the suite. In step n, from 1, they report {"count": n} and save a checkpoint
// of it; they resume from one, and end after `last`. Their own directory is `directory`.
using MakeTrainable =
    std::function<std::unique_ptr<Trainable>(const std::string& directory, int last)>;

// Tests the contract of trainables (trainable.h). GoogleTest failures name the broken promise.
void ExpectConformingTrainable(const MakeTrainable& make);

}  // namespace trainer

#endif  // TRAINER_FUNCTION_TRAINABLE_CONFORMANCE_H_
