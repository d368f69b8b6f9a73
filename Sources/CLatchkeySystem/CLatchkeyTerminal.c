#include <sys/ioctl.h>

#include "CLatchkeySystem.h"

int latchkey_system_terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
