#define TWIN 0x111
#include "twin.h"
