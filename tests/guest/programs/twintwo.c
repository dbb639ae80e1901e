#define TWIN 0x222
#include "twin.h"
