// zlib as Debian packages it (zlib1g-dev): the checksums of LatchkeyPersistence's rows.
#include <zlib.h>
