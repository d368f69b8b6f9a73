// GnuTLS as Debian packages it (libgnutls28-dev): the hashes of LatchkeyService.
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
