// Exceptions: braze::Error and its kinds for what a user did, InternalError for bugs.
#pragma once

#include "ir/error_types.h"
