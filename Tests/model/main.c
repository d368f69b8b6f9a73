// Explores the models; the exit status tells whether each verdict is the expected one.

#include "models.h"

#include <stdio.h>

int main(void) {
    int wrong = check_litmuses() + check_adaptive() + check_conditions() + check_mcs() +
                check_epochs() + check_switch();
    printf("model: %d wrong verdicts\n", wrong);
    return wrong == 0 ? 0 : 1;
}
