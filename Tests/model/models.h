// The models that main.c runs. Each prints one line per model and returns the number of wrong
// verdicts.

#ifndef LATCHKEY_MODEL_MODELS_H
#define LATCHKEY_MODEL_MODELS_H

// The checker's own test.
int check_litmuses(void);

int check_adaptive(void);
int check_conditions(void);
int check_epochs(void);
int check_mcs(void);
int check_switch(void);

#endif
