#pragma once

#include "tare/report.h"

namespace tare {

/// A report that holds every field there can be: what `known` leaves open has some value, and a
/// list that is empty there has one entry without a name, which stands for any.
Report prototype(Report known);

}  // namespace tare
