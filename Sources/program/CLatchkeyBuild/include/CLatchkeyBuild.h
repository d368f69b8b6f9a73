// The identity of the build.

#ifndef CLATCHKEYBUILD_H
#define CLATCHKEYBUILD_H

// The minute and the abbreviated name of the commit, such as 202601312359.0123abcd, or an empty
// string. Package.swift takes it from the variable LATCHKEY_BUILD of the environment: only this
// small target is compiled again when it changes.
const char *latchkey_build_commit(void);

#endif
