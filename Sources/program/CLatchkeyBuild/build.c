#include "CLatchkeyBuild.h"

#ifndef LATCHKEY_BUILD
#define LATCHKEY_BUILD ""
#endif

const char *latchkey_build_commit(void) {
    return LATCHKEY_BUILD;
}
